"""Processes that ours start, and what they may use: memory, threads."""
