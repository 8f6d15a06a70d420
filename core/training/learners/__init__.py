"""Weak learners: each finds the best hypotheses for given weights."""
