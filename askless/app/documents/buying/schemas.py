"""Read the schemas of an OpenAPI file: references, joined schemas, single values."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Schema = dict[str, Any]
SCALARS = ("string", "number", "integer", "boolean")
MOST_DEPTH = 4
# Steps through references that lead to one another, and schemas that are joined.
MOST_STEPS = 50
# Schemas that are looked at for an operation: those that refer to one another branch.
MOST_SCHEMAS = 20_000
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Where a value stands: names of fields, and 0 for the first of a list.
Leaf = tuple[str | int, ...]


class References:
    """Resolves the references of a file to its own parts."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = dict(document)
        self.n_flattened = 0

    def resolve(self, raw: object) -> Schema:
        """Return the object that references lead to; {} if there is none."""
        for _ in range(MOST_STEPS):
            if not isinstance(raw, Mapping):
                return {}
            if not isinstance(raw.get("$ref"), str):
                return dict(raw)
            raw = self.find(raw["$ref"])
        return {}

    def find(self, reference: str) -> object:
        """Return the place that `#/a/b` names; None if it is missing or elsewhere."""
        if not reference.startswith("#/"):
            return None
        place: Any = self.document
        for part in reference[2:].split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(place, Mapping) or name not in place:
                return None
            place = place[name]
        return place

    def get(self, owner: Mapping[str, Any], name: str) -> Schema:
        """Return the object that a field holds, or {}."""
        return self.resolve(owner.get(name))

    def flatten(self, raw: object) -> Schema:
        """Return one object of a schema and of its `allOf`, `oneOf` and `anyOf`.

        It ends after `MOST_STEPS`. Schemas after the first `MOST_SCHEMAS` are empty.
        """
        self.n_flattened += 1
        if self.n_flattened > MOST_SCHEMAS:
            return {"required": []}
        joined: Schema = {}
        properties: Schema = {}
        required: list[str] = []
        rest, n_steps = [raw], 0
        while rest and n_steps < MOST_STEPS:
            n_steps += 1
            schema = self.resolve(rest.pop(0))
            for word in ("allOf", "oneOf", "anyOf"):
                parts = schema.pop(word, None)
                rest += parts if isinstance(parts, list) else []
            for name, nested in self.get(schema, "properties").items():
                properties.setdefault(str(name), nested)
            names = schema.pop("required", None)
            required += names if isinstance(names, list) else []
            joined = {**schema, **joined}
        if properties:
            joined["properties"] = properties
        return {**joined, "required": required}


def list_fields(references: References, flat: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the required fields of a schema, or its single values if there are none."""
    required = flat["required"]
    for name, raw in flat["properties"].items():
        nested = references.flatten(raw)
        if name in required or (not required and is_single(nested)):
            yield name, nested


def is_single(flat: Schema) -> bool:
    """Return whether a flat schema is of a text, a number or a boolean."""
    is_scalar = any(is_of(flat, kind) for kind in SCALARS)
    return is_scalar or bool({"enum", "const"} & flat.keys())


def list_leaves(
    references: References, schema: Schema, place: Leaf = ()
) -> Iterator[Leaf]:
    """Yield places of single values, `MOST_DEPTH` fields deep; lists by the first."""
    flat = references.flatten(schema)
    n_lists = place.count(0)
    if "properties" in flat:
        is_deep = len(place) - n_lists >= MOST_DEPTH
        for name, nested in flat["properties"].items() if not is_deep else ():
            yield from list_leaves(references, nested, (*place, name))
    elif is_of(flat, "array") or "items" in flat:
        if n_lists < MOST_DEPTH:
            items = references.get(flat, "items")
            yield from list_leaves(references, items, (*place, 0))
    elif is_single(flat):
        yield place


def is_of(flat: Schema, kind: str) -> bool:
    """Return whether a schema's type, or one of its types, is a kind."""
    types = flat.get("type")
    return kind in types if isinstance(types, list) else types == kind


def name_leaves(leaves: Sequence[Leaf]) -> dict[str, str]:
    """Return paths by their last field, or by all fields where several share it."""
    counts = Counter(last_name(leaf) for leaf in leaves)
    named: dict[str, str] = {}
    for leaf in leaves:
        name = last_name(leaf)
        if counts[name] > 1:
            name = "_".join(str(part) for part in leaf if part != 0)
        if name not in named:
            named[name] = write_path(leaf)
    return named


def last_name(leaf: Leaf) -> str:
    return next((part for part in reversed(leaf) if isinstance(part, str)), "value")


def write_path(leaf: Leaf) -> str:
    """Return a place as JMESPath."""
    path = ""
    for part in leaf:
        if part == 0:
            path += "[0]"
            continue
        shown = str(part)
        name = shown if PLAIN.fullmatch(shown) else json.dumps(shown)
        path += f".{name}" if path else name
    return path or "@"
