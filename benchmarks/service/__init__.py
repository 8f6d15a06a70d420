"""Answers over HTTP: how many per second, how late, and whether the money is right."""
