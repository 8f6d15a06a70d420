"""Signing in where others know people: the code flow and its tokens."""
