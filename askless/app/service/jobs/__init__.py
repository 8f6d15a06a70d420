"""Jobs: the queue, its attempts, and the orders and results of each kind."""
