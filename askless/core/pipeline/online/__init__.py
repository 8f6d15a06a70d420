"""Learning row by row, with a model that online boosting has trained."""
