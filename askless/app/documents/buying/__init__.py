"""Providers, runs, calls and receipts."""
