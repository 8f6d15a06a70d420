"""All routes share these: callers, transactions, problems, retries, event streams."""
