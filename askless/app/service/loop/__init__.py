"""The learning loop of a model: closed cases, refreshes, challenges, monitor."""
