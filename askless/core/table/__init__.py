"""The user's table, checked: dataset, catalogue, prices, columns, folds, codes."""
