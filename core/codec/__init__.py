"""Models, states and rounds to and from JSON-able values, with a format version.

What comes in is trusted with nothing: every index is checked.
"""

from core.codec.models import model_from_json, model_to_json
from core.codec.rounds import rounds_from_json, rounds_to_json
from core.codec.states import state_from_json, state_to_json

__all__ = [
    "model_from_json",
    "model_to_json",
    "rounds_from_json",
    "rounds_to_json",
    "state_from_json",
    "state_to_json",
]
