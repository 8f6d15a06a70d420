"""JSON documents on disk: specs and models, read whole and written whole."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from core.codec import model_from_json, model_to_json
from core.errors import Refusal, RefusedError
from core.model.model import Model
from core.specs import TrainingSpec, read_spec

MAX_DEPTH = 16
JSON_RULE = (
    "must be JSON in UTF-8, without NaN or Infinity, its integers of at most "
    f"{sys.get_int_max_str_digits()} digits"
)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        rule = "must be a readable UTF-8 file"
        found = getattr(error, "strerror", None) or type(error).__name__
        raise RefusedError([Refusal(str(path), rule, found)]) from None


def parse_json(text: str | bytes, where: str, *, exact: bool = False) -> Any:
    """Parse JSON; `exact` keeps decimals as `Decimal`."""
    try:
        return json.loads(
            text,
            parse_float=Decimal if exact else None,
            parse_constant=refuse_constant,
            object_pairs_hook=distinct,
        )
    except RefusedError:
        raise
    except (ValueError, RecursionError) as error:
        raise RefusedError([Refusal(where, JSON_RULE, str(error))]) from None


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its fields, refusing those that stand twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise RefusedError(
            Refusal(
                name if name.isprintable() else repr(name),
                "must stand once in its object",
                f"{count} times",
            )
            for name, count in counts.items()
            if count > 1
        )
    return fields


def parse_spec(text: str | bytes, where: str = "spec") -> dict[str, Any]:
    """Parse a spec with exact decimals, refusing texts that can't be stored."""
    raw = parse_json(text, where, exact=True)
    if not isinstance(raw, dict):
        raise RefusedError([Refusal(where, "must be an object")])
    rule = "must have neither U+0000 nor halves of characters"
    refusals = [
        Refusal(field, rule, ascii(text))
        for field, text in texts(raw)
        if not is_storable(text)
    ]
    if refusals:
        raise RefusedError(refusals)
    return raw


def texts(raw: object) -> Iterator[tuple[str, str]]:
    """Yield every text of a spec with its field, keys too; refuse deep nesting."""
    rest = [(raw, "", 0)]
    while rest:
        value, where, depth = rest.pop()
        if depth > MAX_DEPTH:
            raise RefusedError([Refusal("spec", f"must nest at most {MAX_DEPTH} deep")])
        if isinstance(value, str):
            yield where, value
        elif isinstance(value, dict):
            for key, item in value.items():
                yield where or "spec", key
                rest.append((item, f"{where}.{key}" if where else key, depth + 1))
        elif isinstance(value, list):
            rest.extend(
                (item, f"{where}[{position}]", depth + 1)
                for position, item in enumerate(value)
            )


def is_storable(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= one <= "\udfff" for one in text)


def load_spec(path: Path) -> TrainingSpec:
    return read_spec(parse_spec(read_text(path), str(path)))


def load_model(path: Path) -> Model:
    return read_model(parse_json(read_text(path), str(path)))


def read_model(raw: object) -> Model:
    """Read a model that sessions can use."""
    model = model_from_json(raw)
    if model.ensemble.is_multilabel:
        rule = "must be false: a session predicts one class"
        raise RefusedError([Refusal("model.is_multilabel", rule)])
    return model


def model_text(model: Model) -> str:
    """Write a model's document, refusing one that could not be read again."""
    text = json.dumps(model_to_json(model), ensure_ascii=False, indent=1) + "\n"
    try:
        read_model(json.loads(text))
    except RefusedError as error:
        raise RefusedError(
            Refusal(one.field, f"{one.rule}; such a model is not kept", one.found)
            for one in error.refusals
        ) from None
    return text


def check_writable(path: Path, where: str) -> None:
    """Refuse, before anything is computed, a file that could not be written."""
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        rule = "its folder must exist, and be writable"
        raise RefusedError([Refusal(where, rule, str(path.parent))])
    if path.is_dir():
        raise RefusedError([Refusal(where, "must be a file", f"the folder {path}")])


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is either the old one or the new one, never half."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        rule = "must be writable"
        raise RefusedError([Refusal(str(path), rule, error.strerror or "")]) from None
