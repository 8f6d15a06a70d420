"""Training makes these values and sessions read them: hypotheses, ensemble, model."""
