"""What every route needs: callers, transactions, problems, retries, event streams."""
