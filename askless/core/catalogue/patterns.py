"""Match names of columns against patterns: in "lab_*" the `*` is any text."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

WILDCARD = "*"
Value = TypeVar("Value")


def is_match(pattern: str, name: str) -> bool:
    """Return whether a pattern matches a name; `*` is the only special character."""
    literals = map(re.escape, pattern.split(WILDCARD))
    return re.fullmatch(".*".join(literals), name, re.DOTALL) is not None


def matching(patterns: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the names that match any of the patterns, in the order of the names."""
    listed = list(patterns)
    return [name for name in names if any(is_match(p, name) for p in listed)]


def unmatched(patterns: Iterable[str], names: Collection[str]) -> list[str]:
    """Return the patterns that match no name."""
    return [p for p in patterns if p not in names and not matching([p], names)]


def expand(values: Mapping[str, Value], names: Iterable[str]) -> dict[str, Value]:
    """Return the value of each name from a mapping of names and patterns to values.

    The name itself wins over patterns. Among patterns the one with the most letters
    wins, then the first. Names that nothing matches are left out.
    """
    patterns = [key for key in values if WILDCARD in key]
    # Most letters first; the sort is stable, so that of equals the first stays first.
    patterns.sort(key=lambda pattern: pattern.count(WILDCARD) - len(pattern))
    value_of: dict[str, Value] = {}
    for name in names:
        matches = (pattern for pattern in patterns if is_match(pattern, name))
        key = name if name in values else next(matches, None)
        if key is not None:
            value_of[name] = values[key]
    return value_of
