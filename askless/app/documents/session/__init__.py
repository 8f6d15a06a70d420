"""Session states, and closed cases."""
