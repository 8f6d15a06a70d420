"""Rows: everything that reads or writes the database, and the uploads."""
