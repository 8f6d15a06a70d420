"""Convert arrow columns to float64 with NaN, or to arrays of str and None.

A column becomes float64 only where this loses nothing that could be meant; what texts
mean is decided by `askless.core.table`.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from askless.core.arrays import FloatArray
from askless.core.table.cells import GAP_WORDS, MIDNIGHT, MISSING_WORDS, write_cell
from askless.core.table.columns import Column
from askless.core.table.texts.numbers import MOST_EXACT

TYPE_RULE = (
    "must hold numbers, words, days or true and false: name it in `ignore`, or leave "
    "it out"
)
# Numbers that are nothing but numbers: no leading zeros, at most 15 digits before the
# point, powers of ten with a sign or a point. Others may be codes.
PLAIN_NUMBER = (
    r"^[-+]?(0|[1-9]\d{0,14}|)(\.\d*)?$"
    r"|^[-+]?[0-9]\.\d*[eE][-+]?\d{1,3}$|^[-+]?[1-9][eE][-+]\d{1,3}$"
)
#: The metadata of columns whose cells are as they were written, without any type.
WRITTEN = b"askless.written"
# Words for a missing value, in small letters.
GAPS = sorted({word.lower() for word in (*MISSING_WORDS, *GAP_WORDS)})


def holds_numbers(kind: Any, chunks: Iterable[Any], *, keep_text: bool) -> bool:
    """Return whether a column is numeric: each cell is a number or a gap.

    `chunks` are its cells; they are read only if its type does not decide. With
    `keep_text` texts stay as they are, whatever they say. Whole numbers that float64
    can't tell apart are texts.
    """
    if is_numeric_type(plain_type(kind)):
        return all(map(are_exact, chunks)) if is_whole_type(kind) else True
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


def is_whole_type(kind: Any) -> bool:
    """Return whether a type has whole numbers that may be too large for float64."""
    plain = plain_type(kind)
    return bool(pa.types.is_integer(plain) or pa.types.is_decimal(plain))


def are_exact(cells: Any) -> bool:
    """Return whether all whole numbers differ as float64; larger ones are codes."""
    words = cells.dictionary if pa.types.is_dictionary(cells.type) else cells
    ends = pc.min_max(words).as_py().values()
    return all(abs(end) <= MOST_EXACT for end in ends if end is not None)


def is_declared_text(field: Any) -> bool:
    """Return whether a table says that a column holds texts, or names for codes.

    A CSV has no types: all its cells are texts, and it says so of its columns.
    """
    if (field.metadata or {}).get(WRITTEN) is not None:
        return False
    kind = field.type
    return bool(pa.types.is_dictionary(kind) or has_lengths(kind))


def list_pandas_categories(schema: Any) -> frozenset[str]:
    """Return the columns that were categories in pandas: Parquet forgets that."""
    described = (schema.pandas_metadata or {}).get("columns", ())
    return frozenset(
        column.get("field_name")
        for column in described
        if column.get("pandas_type") == "categorical"
    )


def has_lengths(kind: Any) -> bool:
    """Return whether a type is text or bytes, whose cells vary in length."""
    tests = (
        *(pa.types.is_string, pa.types.is_large_string),
        *(pa.types.is_binary, pa.types.is_large_binary),
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
    """Return whether all texts are numbers, and are nothing else."""
    is_plain = pc.match_substring_regex(words, pattern=PLAIN_NUMBER)
    if not pc.all(is_plain, min_count=0).as_py():
        return False
    try:
        numbers = words.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return bool(pc.all(pc.is_finite(numbers), min_count=0).as_py())


def mark_gaps(trimmed: Any) -> Any:
    """Return a mask of the stripped texts that stand for a missing value."""
    return pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(GAPS))


def cells_to_texts(cells: Any) -> Any:
    """Return cells as texts, unchanged if they are; numbers as tables of text do."""
    if pa.types.is_string(cells.type):
        return cells
    if pa.types.is_floating(cells.type) or pa.types.is_decimal(cells.type):
        return pa.array(map(write_cell, cells.to_pylist()), pa.string())
    texts = cells.cast(pa.string())
    if pa.types.is_timestamp(cells.type):
        return pc.replace_substring_regex(texts, pattern=MIDNIGHT, replacement="")
    return texts


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
    return pa.DictionaryArray.from_arrays(cells.indices, cells_to_texts(words))


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
