"""One call to a provider: its request, the sending, and what came of it."""
