"""MODEL.json and checkpoints."""
