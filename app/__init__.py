"""Askless around its core: command line, files, and what a user touches."""
