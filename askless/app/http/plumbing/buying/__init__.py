"""Runs, and trials of providers, behind their routes."""
