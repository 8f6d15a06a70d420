"""A session's state as the text that is stored, and back."""

import json

from core.codec import state_from_json, state_to_json
from core.session.state import State
from core.table.catalogue import Catalogue

# Categories that training did not see have no code: their texts stand beside the state.
TEXTS = "unseen_texts"

Texts = dict[str, str]


def write(state: State, catalogue: Catalogue, texts: Texts) -> str:
    raw = {**state_to_json(state, catalogue), TEXTS: texts}
    return json.dumps(raw, ensure_ascii=False, separators=(",", ":"))


def read(text: str, catalogue: Catalogue) -> tuple[State, Texts]:
    raw = json.loads(text)
    return state_from_json(raw, catalogue), dict(raw.get(TEXTS, {}))


def has_pending(text: str) -> bool:
    """Whether a result is still to come; needs no catalogue."""
    features = json.loads(text)["features"].values()
    return any(feature["outcome"] == "ordered" for feature in features)
