"""What training makes and sessions read: hypotheses, ensemble, model."""
