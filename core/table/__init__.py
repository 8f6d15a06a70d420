"""What was brought: dataset, catalogue and prices, columns, folds, codes."""
