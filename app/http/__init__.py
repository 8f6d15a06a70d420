"""Routes, one file per noun; forms, and the table from errors to problems."""
