"""Compiled online boosting."""
