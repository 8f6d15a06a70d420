"""The settings of the service, and what follows from them."""
