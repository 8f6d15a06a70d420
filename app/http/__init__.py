"""Routes, one file per noun; schemas, and the table from errors to problems."""
