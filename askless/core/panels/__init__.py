"""Panels choose features for every budget, and fit predictors for each such set."""
