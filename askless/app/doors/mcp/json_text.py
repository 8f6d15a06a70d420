"""JSON as agents read it: compact texts, and schemas without what only people need."""

import json
from typing import Any

# pydantic adds them to every field; the field's name and description say as much.
LEFT_OUT = ("title", "examples")


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def compact_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without titles and examples; what it allows stays the same."""
    compact: dict[str, Any] = {}
    for word, value in schema.items():
        if word in LEFT_OUT:
            continue
        # The keys of these are names of fields, which may be any word.
        if word in ("properties", "$defs", "patternProperties"):
            compact[word] = {name: compact_schema(one) for name, one in value.items()}
        elif isinstance(value, dict):
            compact[word] = compact_schema(value)
        elif isinstance(value, list):
            compact[word] = [
                compact_schema(one) if isinstance(one, dict) else one for one in value
            ]
        else:
            compact[word] = value
    return compact
