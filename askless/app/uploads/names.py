"""Checks the names of a table's columns."""

from collections import Counter
from collections.abc import Sequence

from askless.core.errors import Refusal, RefusedError
from askless.core.table.cells import UNNAMED


def tidy_names(raw_names: Sequence[str]) -> list[str]:
    """Strip white space from names; refuse duplicates.

    Columns without a name get pandas' names, "Unnamed: 0".
    """
    names = [
        name.strip() or f"{UNNAMED}{position}"
        for position, name in enumerate(raw_names)
    ]
    refusals = [
        Refusal(f"column {name!r}", "names must be unique", f"{count} columns")
        for name, count in Counter(names).items()
        if count > 1
    ]
    if refusals:
        raise RefusedError(refusals)
    return names
