"""Predictors of a panel: ridges, trees, and their blend."""
