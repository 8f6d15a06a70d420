"""Sessions of many rows at once, as policies simulate themselves."""
