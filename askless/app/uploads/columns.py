"""Converts pyarrow tables to columns: float64 with NaN, or str and None."""

from collections.abc import Collection
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from askless.core.errors import Refusal, RefusedError
from askless.core.table.cells import GAP_WORDS, MISSING_WORDS
from askless.core.table.columns import Column

TYPE_RULE = (
    "must hold numbers, words, days or true and false: name it in `ignore`, or leave "
    "it out"
)


def to_columns(
    table: Any, text: Collection[str] = (), unused: Collection[str] = ()
) -> dict[str, Column]:
    """Convert a pyarrow table to columns; see `read_columns`.

    Columns in `unused` are not read; all their cells are returned as missing. Raises
    RefusedError for columns of lists, records or bytes.
    """
    columns: dict[str, Column] = {}
    refusals = []
    for name in table.column_names:
        cells = table.column(name)
        if name in unused:
            columns[name] = np.broadcast_to(np.nan, table.num_rows)
            continue
        try:
            columns[name] = to_column(cells, keep_text=name in text)
        except pa.ArrowException:
            refusals.append(Refusal(f"column {name}", TYPE_RULE, str(cells.type)))
    if refusals:
        raise RefusedError(refusals)
    return columns


def to_column(cells: Any, *, keep_text: bool) -> Column:
    """Convert an arrow column to float64, or to an array of str and None."""
    if pa.types.is_dictionary(cells.type):
        return decode_words(cells, keep_text=keep_text)
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    if not is_numeric_type(cells.type):
        # Booleans become the words true and false.
        keep_text |= pa.types.is_boolean(cells.type)
        cells = cells.cast(pa.string())
        numbers = None if keep_text else as_numbers(cells)
        if numbers is None:
            return decode_words(cells.dictionary_encode(), keep_text=True)
        cells = numbers
    # Not safe: large integers may lose digits.
    numbers = cells.cast(pa.float64(), safe=False)
    return np.array(numbers.fill_null(np.nan).to_numpy(zero_copy_only=False))


def is_numeric_type(kind: Any) -> bool:
    """Return whether a type is numeric, or null (all cells are missing)."""
    tests = (
        *(pa.types.is_integer, pa.types.is_floating),
        *(pa.types.is_decimal, pa.types.is_null),
    )
    return any(test(kind) for test in tests)


def decode_words(cells: Any, *, keep_text: bool) -> Column:
    """Convert a dictionary column to a column, each of its words once in memory."""
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.unify_dictionaries().combine_chunks()
    if isinstance(cells, pa.ChunkedArray):
        # It has no chunk.
        return to_column(cells.cast(cells.type.value_type), keep_text=keep_text)
    n_words = len(cells.dictionary)
    # A missing cell gets the code after the last word. Words that no cell has are left
    # out: they must not decide whether the column is numeric.
    numbers = cells.indices.cast(pa.int32()).fill_null(n_words).to_numpy()
    used = np.flatnonzero(np.bincount(numbers, minlength=n_words + 1)[:n_words])
    words = dictionary_to_column(
        cells.dictionary.take(pa.array(used)), keep_text=keep_text
    )
    gap = np.array([np.nan if words.dtype == np.float64 else None], words.dtype)
    places = np.full(n_words + 1, len(used))
    places[used] = np.arange(len(used))
    column: Column = np.concatenate([words, gap])[places[numbers]]
    return column


def dictionary_to_column(words: Any, *, keep_text: bool) -> Column:
    """Return the distinct values of a dictionary as a column: numbers or texts."""
    if not (pa.types.is_string(words.type) or pa.types.is_large_string(words.type)):
        return to_column(words, keep_text=keep_text)
    numbers = None if keep_text else as_numbers(words)
    if numbers is not None:
        return np.array(numbers.fill_null(np.nan).to_numpy(zero_copy_only=False))
    texts = np.empty(len(words), dtype=np.object_)
    texts[:] = words.to_pylist()
    return texts


def as_numbers(cells: Any) -> Any:
    """Return texts as float64 with gaps as null; None if some are not numbers."""
    trimmed = pc.utf8_trim_whitespace(cells)
    with suppress(pa.ArrowInvalid):
        # Most columns have no gap words, and pass this faster test.
        return trimmed.cast(pa.float64())
    is_gap = mark_gaps(trimmed)
    known = trimmed.filter(pc.fill_null(pc.invert(is_gap), False))
    with suppress(pa.ArrowInvalid):
        known.cast(pa.float64())
        numbers = pc.if_else(is_gap, pa.scalar(None, pa.string()), trimmed)
        # A column of gaps alone is not numeric.
        return numbers.cast(pa.float64()) if len(known) else None
    return None


def mark_gaps(trimmed: Any) -> Any:
    """Return a mask of the stripped texts that stand for a missing value."""
    words = pa.array([*MISSING_WORDS, *GAP_WORDS])
    return pc.or_(
        pc.is_in(trimmed, value_set=words),
        pc.is_in(pc.utf8_lower(trimmed), value_set=words),
    )
