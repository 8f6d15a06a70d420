"""What features and groups cost: the catalogue, exact prices, price lists."""
