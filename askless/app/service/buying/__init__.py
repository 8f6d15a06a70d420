"""Providers, runs, calls and receipts of sessions that buy by themselves."""
