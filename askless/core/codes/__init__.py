"""Codes of a table for training: binned, packed, in folds."""
