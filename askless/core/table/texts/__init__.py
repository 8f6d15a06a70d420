"""Texts as numbers and as categories."""
