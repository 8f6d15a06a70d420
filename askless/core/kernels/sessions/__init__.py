"""Compiled sessions of many rows."""
