"""Routes, one file per noun; `plumbing` has what all of them need."""
