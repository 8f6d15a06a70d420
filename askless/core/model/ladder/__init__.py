"""The panels of a model, what predicts from them, and which of them is next."""
