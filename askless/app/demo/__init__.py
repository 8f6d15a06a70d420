"""Data of the demo: three public tables, and leads that are made up."""
