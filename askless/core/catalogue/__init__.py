"""Costs of features and groups: the catalogue, exact prices, price lists."""
