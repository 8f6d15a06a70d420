"""Parse JSON: no duplicate fields, finite numbers only, limited depth."""

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NoReturn

from askless.app.documents.fields import STORABLE_RULE, is_storable
from askless.core.errors import Refusal, RefusedError

MAX_DEPTH = 16
JSON_RULE = (
    "must be JSON in UTF-8, without NaN or Infinity, its integers of at most "
    f"{sys.get_int_max_str_digits()} digits"
)


def parse_json(
    text: str | bytes, where: str, *, exact: bool = False, takes_nan: bool = False
) -> Any:
    """Parse JSON; `exact` keeps decimals as `Decimal`, `takes_nan` allows NaN.

    Raises RefusedError, which names the field `where` or a field that stands twice.
    """
    try:
        return json.loads(
            text,
            parse_float=Decimal if exact else parse_finite,
            parse_constant=parse_nan if takes_nan else refuse_constant,
            object_pairs_hook=build_distinct_object,
        )
    except RefusedError:
        raise
    except (ValueError, RecursionError) as error:
        raise RefusedError([Refusal(where, JSON_RULE, str(error))]) from None


def parse_nan(name: str) -> float:
    return math.nan if name == "NaN" else refuse_constant(name)


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is larger than any number held")
    return number


def build_distinct_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object of its pairs; refuse duplicate fields."""
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
    """Parse a spec with exact decimals; refuse texts that can't be stored."""
    raw = parse_json(text, where, exact=True)
    if not isinstance(raw, dict):
        raise RefusedError([Refusal(where, "must be an object")])
    refusals = [
        Refusal(field, STORABLE_RULE, ascii(text))
        for field, text in list_texts(raw)
        if not is_storable(text)
    ]
    if refusals:
        raise RefusedError(refusals)
    return raw


def list_texts(raw: object) -> Iterator[tuple[str, str]]:
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
