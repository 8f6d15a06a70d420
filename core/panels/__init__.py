"""Which features to buy at every budget, and what predicts from each such set."""
