"""Providers, runs, calls, and what is told of their end."""
