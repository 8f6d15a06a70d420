"""Providers, runs, calls, and webhooks."""
