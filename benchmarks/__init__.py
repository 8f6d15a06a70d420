"""Accuracy and speed measured on real and made data; never imported by the rest."""
