"""Doors: other protocols over the same services; a setting opens each of them."""
