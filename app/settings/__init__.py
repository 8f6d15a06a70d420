"""What the service is told at its start: settings, and what follows from them."""
