"""Buying from priced vendors whose answers may be empty."""
