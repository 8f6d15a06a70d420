"""Encodes streamed texts as codes and words, so that few Python objects are made."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from askless.app.uploads.columns import dictionary_to_column
from askless.core.table.columns import Column


def as_coded(cells: Any) -> Any:
    """Return cells that are not numbers as a dictionary of texts."""
    if not pa.types.is_dictionary(cells.type):
        return cells.cast(pa.string()).dictionary_encode()
    words = cells.dictionary
    if pa.types.is_string(words.type) or pa.types.is_large_string(words.type):
        return cells
    return pa.DictionaryArray.from_arrays(cells.indices, words.cast(pa.string()))


def word_codes(cells: Any) -> Any:
    """Return the code of each cell; missing cells get the number of words."""
    codes = cells.indices.fill_null(len(cells.dictionary))
    return codes.to_numpy(zero_copy_only=False)


def join_texts(parts: Iterable[Any], n_rows: int) -> Column:
    """Join coded cells to one column of texts and None, each word once in memory."""
    chunks = list(parts)
    column = np.empty(n_rows, np.object_)
    if not chunks:
        return column
    joined = pa.chunked_array(chunks).unify_dictionaries()
    chunks.clear()
    words = joined.chunk(0).dictionary
    # The last place is that of missing cells, which `word_codes` gives the number of
    # words; its text stays None.
    is_used = np.zeros(len(words) + 1, np.bool_)
    for cells in joined.chunks:
        is_used[word_codes(cells)] = True
    is_used[-1] = False
    texts = np.empty(len(words) + 1, np.object_)
    texts[is_used] = dictionary_to_column(
        words.filter(pa.array(is_used[:-1])), keep_text=True
    )
    start = 0
    for cells in joined.chunks:
        column[start : start + len(cells)] = texts[word_codes(cells)]
        start += len(cells)
    return column
