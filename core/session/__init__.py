"""What happens with an ensemble: sessions, policies, probabilities, curves."""
