"""The questions of a session before it is played: as a tree, as a list."""
