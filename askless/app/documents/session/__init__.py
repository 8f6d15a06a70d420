"""Session states, and logged cases."""
