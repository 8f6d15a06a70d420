"""What doors cost beside /predict, and what an agent saves that buys by them."""
