"""Sessions: one case is asked for features one at a time, and predicted."""
