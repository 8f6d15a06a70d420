"""Pages for people, under /ui, and the report of a model as one file."""
