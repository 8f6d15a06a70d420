"""Pages of keys, sign-in and ledger."""
