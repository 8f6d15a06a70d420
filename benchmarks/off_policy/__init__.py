"""Measures whether intervals of estimates from logged cases hold the truth."""
