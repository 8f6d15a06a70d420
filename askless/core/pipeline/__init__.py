"""Make a model: train on folds to measure its error, then on all rows."""
