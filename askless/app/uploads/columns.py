"""Convert arrow columns to float64 with NaN, or to arrays of str and None."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from askless.core.arrays import FloatArray
from askless.core.table.cells import GAP_WORDS, MISSING_WORDS
from askless.core.table.columns import Column

TYPE_RULE = (
    "must hold numbers, words, days or true and false: name it in `ignore`, or leave "
    "it out"
)
# Words for a missing value, in small letters.
GAPS = sorted({word.lower() for word in (*MISSING_WORDS, *GAP_WORDS)})


def holds_numbers(kind: Any, chunks: Iterable[Any], *, keep_text: bool) -> bool:
    """Return whether a column is numeric: each cell is a number or a gap.

    `chunks` are its cells; they are read only if its type does not decide. With
    `keep_text` texts stay as they are, whatever they say.
    """
    if is_numeric_type(plain_type(kind)):
        return True
    if keep_text or pa.types.is_boolean(plain_type(kind)):
        return False
    try:
        return are_all_numbers(chunks)
    except pa.ArrowException:
        # They can't become text; converting the column reports that.
        return False


def plain_type(kind: Any) -> Any:
    """Return the type of cells, also of those in a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_numeric_type(kind: Any) -> bool:
    """Return whether a type is numeric, or null (all cells are missing)."""
    tests = (
        *(pa.types.is_integer, pa.types.is_floating),
        *(pa.types.is_decimal, pa.types.is_null),
    )
    return any(test(kind) for test in tests)


def are_all_numbers(chunks: Iterable[Any]) -> bool:
    """Return whether some cells are numbers and all others are gaps.

    Without any number, it returns True only if every cell is empty or NaN: a column of
    words for gaps alone is text.
    """
    is_plain, has_number = True, False
    for cells in chunks:
        if pa.types.is_dictionary(cells.type):
            # A missing cell is no word of a dictionary.
            distinct = cells_to_texts(select_used_words(cells)).drop_null()
        else:
            distinct = pc.unique(cells_to_texts(cells))
        words = pc.utf8_trim_whitespace(distinct)
        known = words.filter(pc.invert(mark_gaps(words)))
        if not is_castable(known):
            return False
        has_number |= len(known) > 0
        is_plain = is_plain and (len(known) == len(words) or is_castable(words))
    return is_plain or has_number


def is_castable(words: Any) -> bool:
    """Return whether all texts can be read as numbers."""
    try:
        words.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def mark_gaps(trimmed: Any) -> Any:
    """Return a mask of the stripped texts that stand for a missing value."""
    return pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(GAPS))


def cells_to_texts(cells: Any) -> Any:
    """Return cells as texts, unchanged if they are."""
    return cells if pa.types.is_string(cells.type) else cells.cast(pa.string())


def to_column(chunks: Iterable[Any], n_rows: int, *, is_number: bool) -> Column:
    """Convert chunks of cells to one column; `is_number` as `holds_numbers` decides."""
    if not is_number:
        return join_texts(map(to_dictionary, chunks), n_rows)
    numbers = np.empty(n_rows)
    start = 0
    for cells in chunks:
        numbers[start : start + len(cells)] = to_numbers(cells)
        start += len(cells)
    return numbers


def to_numbers(cells: Any) -> FloatArray:
    """Convert cells that are all numbers or gaps to float64."""
    if pa.types.is_dictionary(cells.type):
        # Words that no cell has need not be numbers.
        is_used = mark_used(cells)
        numbers = np.full(is_used.size, np.nan)
        numbers[is_used] = to_numbers(select_used_words(cells))
        return np.asarray(numbers[codes_of_words(cells)])
    if not is_numeric_type(cells.type):
        cells = parse_numbers(cells_to_texts(cells))
    if not pa.types.is_float64(cells.type):
        # Not safe: large integers may lose digits.
        cells = cells.cast(pa.float64(), safe=False)
    # Missing cells become NaN.
    return np.asarray(cells.to_numpy(zero_copy_only=False))


def parse_numbers(cells: Any) -> Any:
    """Return texts as float64 with gaps as null."""
    trimmed = pc.utf8_trim_whitespace(cells)
    with suppress(pa.ArrowInvalid):
        # Most columns have no gap words, and pass this faster test.
        return trimmed.cast(pa.float64())
    gap = pa.scalar(None, pa.string())
    return pc.if_else(mark_gaps(trimmed), gap, trimmed).cast(pa.float64())


def to_dictionary(cells: Any) -> Any:
    """Return cells that are not numbers as a dictionary of texts."""
    if not pa.types.is_dictionary(cells.type):
        return cells_to_texts(cells).dictionary_encode()
    words = cells.dictionary
    if pa.types.is_string(words.type) or pa.types.is_large_string(words.type):
        return cells
    return pa.DictionaryArray.from_arrays(cells.indices, words.cast(pa.string()))


def codes_of_words(cells: Any) -> Any:
    """Return the code of each cell; missing cells get the number of words."""
    codes = cells.indices.cast(pa.int32()).fill_null(len(cells.dictionary))
    return codes.to_numpy(zero_copy_only=False)


def mark_used(cells: Any) -> Any:
    """Return a mask of the words that some cell has; the last entry is False."""
    is_used = np.zeros(len(cells.dictionary) + 1, np.bool_)
    is_used[codes_of_words(cells)] = True
    is_used[-1] = False
    return is_used


def select_used_words(cells: Any) -> Any:
    """Return the words of a dictionary that some cell has."""
    return cells.dictionary.filter(pa.array(mark_used(cells)[:-1]))


def join_texts(parts: Iterable[Any], n_rows: int) -> Column:
    """Join coded cells to one column of texts and None, each word once in memory."""
    chunks = list(parts)
    column = np.empty(n_rows, np.object_)
    if not chunks:
        return column
    joined = pa.chunked_array(chunks).unify_dictionaries()
    chunks.clear()
    words = joined.chunk(0).dictionary
    # The last place is that of missing cells; its text stays None.
    is_used = np.logical_or.reduce([mark_used(cells) for cells in joined.chunks])
    texts = np.empty(len(words) + 1, np.object_)
    texts[is_used] = words.filter(pa.array(is_used[:-1])).to_pylist()
    start = 0
    for cells in joined.chunks:
        column[start : start + len(cells)] = texts[codes_of_words(cells)]
        start += len(cells)
    return column
