"""Makes a model: trains on folds to measure its error, then on all rows."""
