"""Decides whether a column holds numbers, without loading all of it."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from askless.app.uploads.columns import is_numeric_type, mark_gaps


def holds_numbers(kind: Any, groups: Iterable[Any], *, keep_text: bool) -> bool:
    """Return whether `columns.to_column` would make numbers of a column.

    `groups` are its cells in batches; they are read only if its type does not decide.
    """
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if is_numeric_type(kind):
        return True
    if keep_text or pa.types.is_boolean(kind):
        return False
    try:
        return are_all_numbers(groups)
    except pa.ArrowException:
        # They can't become text; reading the column reports that.
        return False


def are_all_numbers(groups: Iterable[Any]) -> bool:
    """Return whether some cells are numbers and all others are gaps.

    Without any number, it returns True only if every cell is empty or NaN: a column of
    words for gaps alone is text. `askless.app.uploads.columns.as_numbers` decides
    likewise.
    """
    is_plain, has_number = True, False
    for cells in groups:
        distinct = pc.unique(cells.cast(pa.string()))
        if pa.types.is_dictionary(cells.type):
            # A missing cell is no word of a dictionary.
            distinct = distinct.drop_null()
        words = pc.utf8_trim_whitespace(distinct)
        known = words.filter(pc.fill_null(pc.invert(mark_gaps(words)), False))
        if not is_castable(known):
            return False
        has_number |= len(known) > 0
        is_plain = is_plain and is_castable(words)
    return is_plain or has_number


def is_castable(words: Any) -> bool:
    """Return whether all texts can be read as numbers."""
    try:
        words.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
