"""Rows of two classes by the sign of a number, and a spec that learns them online."""

from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]
SPEC: Json = {
    "name": "signs",
    "target": "y",
    "positive": "yes",
    "algorithm": "online",
    "params": {"rounds": 10},
    "validation": {"folds": 2},
}


def make_rows(n_rows: int, start: int = 0) -> list[Json]:
    """Rows of which a second number repeats the first, but in every fifth."""
    numbers = [(7 * k % 20) - 9.5 for k in range(start, start + n_rows)]
    return [
        {
            "a": x,
            "b": -x if k % 5 == 0 else x,
            "colour": "red" if k % 2 else "blue",
            "y": "yes" if x > 0 else "no",
        }
        for k, x in enumerate(numbers)
    ]


def as_csv(rows: Iterable[Json]) -> bytes:
    lines = [",".join(str(cell) for cell in row.values()) for row in rows]
    return "\n".join(["a,b,colour,y", *lines, ""]).encode()
