"""Shards: some rows of a table, their weights and sums, and what a run asks of them."""
