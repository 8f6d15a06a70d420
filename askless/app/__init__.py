"""Askless around its core: command line, service, and what a user touches."""
