"""What predicts from a panel's features: ridges, trees, and their blend."""
