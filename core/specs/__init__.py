"""What training is asked to do: JSON-able values become a checked spec, or are refused.

A refusal names everything that is wrong at once.
"""

from core.specs.training import TrainingSpec, read_spec

__all__ = ["TrainingSpec", "read_spec"]
