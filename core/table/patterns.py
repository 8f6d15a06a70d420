"""Names of columns with `*` for any letters, also none: "lab_*"."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

WILDCARD = "*"
Value = TypeVar("Value")


def is_match(pattern: str, name: str) -> bool:
    """Whether a pattern names a column; nothing but `*` has a meaning of its own."""
    parts = map(re.escape, pattern.split(WILDCARD))
    return re.fullmatch(".*".join(parts), name, re.DOTALL) is not None


def matching(patterns: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the names that any of the patterns names, in their order."""
    listed = list(patterns)
    return [name for name in names if any(is_match(one, name) for one in listed)]


def unmatched(patterns: Iterable[str], names: Collection[str]) -> list[str]:
    """Return the patterns that name nothing."""
    return [one for one in patterns if one not in names and not matching([one], names)]


def by_name(given: Mapping[str, Value], names: Iterable[str]) -> dict[str, Value]:
    """Return what is given for each name.

    The name itself wins over patterns; of these the one with the most letters, then
    the first.
    """
    patterns = [one for one in given if WILDCARD in one]
    patterns.sort(key=lambda one: one.count(WILDCARD) - len(one))
    found: dict[str, Value] = {}
    for name in names:
        fitting = (one for one in patterns if is_match(one, name))
        chosen = name if name in given else next(fitting, None)
        if chosen is not None:
            found[name] = given[chosen]
    return found
