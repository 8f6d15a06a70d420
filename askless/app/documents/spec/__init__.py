"""The document of a training spec."""
