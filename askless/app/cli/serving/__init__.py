"""Commands of the service and its database."""
