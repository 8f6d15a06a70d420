"""Read CSV (also compressed) and Parquet files whole, by pyarrow."""

import csv
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from askless.app.uploads.bounds import (
    UNBOUNDED,
    Bounds,
    refuse_too_large_for_memory,
    refuse_too_many,
)
from askless.app.uploads.columns import has_lengths
from askless.app.uploads.csv_tables import read_csv
from askless.app.uploads.unpacking import Source, encoding_rule, read_content, to_utf8
from askless.core.errors import Refusal, RefusedError
from askless.core.table.cells import UNNAMED, tidy_text

__all__ = ["Bounds", "Source", "read_table"]

MAGIC = b"PAR1"
# Least bytes of a cell in memory: a float64 or a pointer.
BYTES_PER_CELL = 8


def read_parquet(content: bytes, bounds: Bounds) -> Any:
    """Read a Parquet file; refuse one whose footer exceeds the bounds.

    Texts stay in dictionaries, so a long text that rows repeat is held once.
    """
    # Loaded where it is needed: most tables are CSV.
    from pyarrow import parquet

    metadata = parquet.read_metadata(pa.BufferReader(content))
    refuse_too_many(metadata.num_columns, bounds.columns, "columns")
    refuse_too_many(metadata.num_rows, bounds.rows, "rows")
    refuse_too_large_for_memory(unpacked_size(metadata), bounds.memory)
    leaves = (metadata.schema.column(i) for i in range(metadata.num_columns))
    texts = [
        leaf.path
        for leaf in leaves
        if leaf.physical_type == "BYTE_ARRAY" and leaf.max_repetition_level == 0
    ]
    with parquet.ParquetFile(pa.BufferReader(content), read_dictionary=texts) as file:
        return file.read(use_threads=False)


def unpacked_size(metadata: Any) -> int:
    """Return the least memory in bytes that a file needs, by its footer."""
    n_bytes = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        least = BYTES_PER_CELL * group.num_rows
        for position in range(group.num_columns):
            n_bytes += max(least, group.column(position).total_uncompressed_size)
    return n_bytes


def tidy_names(raw_names: Sequence[str]) -> list[str]:
    """Tidy names as cells, or name columns as pandas does; refuse duplicates.

    Signs that have no width are no part of a name, and line ends in it are spaces.
    """
    names = [
        tidy_text(tidy_signs(name)) or f"{UNNAMED}{position}"
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


def tidy_signs(name: str) -> str:
    """Return a name with nothing that can't be printed; control signs become spaces."""
    if name.isprintable():
        return name
    shown = (
        sign if sign.isprintable() else " " * (unicodedata.category(sign) != "Cf")
        for sign in name
    )
    return " ".join("".join(shown).split())


def read_table(
    source: Source, bounds: Bounds = UNBOUNDED, skipped: list[Refusal] | None = None
) -> Any:
    """Read a pyarrow table, its format known by its first bytes.

    A table beyond `bounds` is refused, before it is read if the file says its size.
    With a list `skipped` rows of a CSV with a wrong number of cells are left out and
    added to it. Names are stripped; columns without a name get pandas' names,
    "Unnamed: 0". Raises RefusedError for a table that can't be read.
    """
    rule = "must be readable"
    # `text` holds what the current step decodes, so that an error can name the line.
    text = b""
    try:
        content = read_content(source, bounds)
        if content.startswith(MAGIC):
            rule = "must be a whole Parquet file"
            table = read_parquet(content, bounds)
        else:
            rule = "must be CSV in UTF-8 or UTF-16 with a header, or Parquet"
            text = content
            text = to_utf8(content)
            table = read_csv(text, bounds, skipped)
    except (pa.ArrowException, csv.Error, OSError, UnicodeError, MemoryError) as error:
        if isinstance(error, MemoryError):
            rule = memory_limit_rule(bounds)
        else:
            rule = encoding_rule(text) or rule
        raise RefusedError([Refusal("table", rule, first_line(error))]) from None
    refuse_too_many(table.num_rows, bounds.rows, "rows")
    renamed = table.rename_columns(tidy_names(table.column_names))
    table = renamed.replace_schema_metadata(table.schema.metadata)
    refuse_long_cells(table, bounds.cell_bytes)
    return table


def refuse_long_cells(table: Any, most: int | None) -> None:
    """Refuse texts of more than `most` bytes; name the first row of each column."""
    # None: cells may have any length.
    if most is None:
        return
    refusals = []
    for name, cells in zip(table.column_names, table.columns, strict=True):
        rows = find_long_cells(cells, most)
        if rows:
            rule = f"a cell may have at most {most:,} bytes"
            # In CSV an open quote makes all that follows one cell.
            rule += "; is a quote left open?" * pa.types.is_string(cells.type)
            where = f"row {rows[0] + 1}" + " and more" * (len(rows) > 1)
            refusals.append(Refusal(f"column {name}", rule, rows=where))
    if refusals:
        raise RefusedError(refusals)


def find_long_cells(cells: Any, most: int) -> list[int]:
    """Return the rows, from 0, of the first two texts with more than `most` bytes."""
    long_rows: list[int] = []
    start = 0
    for chunk in cells.chunks:
        is_coded = pa.types.is_dictionary(chunk.type)
        words = chunk.dictionary if is_coded else chunk
        # All chunks of a column have one type, and numbers are never too long.
        if not has_lengths(words.type):
            return []
        is_long = pc.greater(pc.binary_length(words), most)
        if pc.any(is_long).as_py():
            # A dictionary holds each text once: its length holds for every row with its
            # code.
            is_long = is_long.take(chunk.indices) if is_coded else is_long
            rows = pc.indices_nonzero(is_long)[:2].to_pylist()
            long_rows += [start + row for row in rows]
        start += len(chunk)
    return long_rows[:2]


def memory_limit_rule(bounds: Bounds) -> str:
    """Return the rule for a table that exceeds the memory, with its limit in MB."""
    if bounds.memory is None:
        return "reading must fit the memory"
    return f"reading must fit the memory, {bounds.memory / 1e6:,.0f} MB"


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, of at most 200 characters."""
    line = str(error).splitlines()[0] if str(error) else type(error).__name__
    return line if len(line) <= 200 else f"{line[:197]}..."
