"""Reads CSV (also compressed) and Parquet files as columns, by pyarrow."""

import csv
from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from app.uploads.bounds import UNBOUNDED, Bounds, refuse_more
from app.uploads.columns import to_columns
from app.uploads.csv_tables import read_csv
from app.uploads.names import tidy_names
from app.uploads.parquet_tables import MAGIC, read_parquet
from app.uploads.unpacking import Source, encoding_rule, read_content, to_utf8
from core.errors import Refusal, RefusedError
from core.table.columns import Column

__all__ = ["Bounds", "Source", "read_columns", "read_table", "to_columns"]


def read_columns(
    source: Source, text: Collection[str] = (), bounds: Bounds = UNBOUNDED
) -> dict[str, Column]:
    """Read a table.

    `text` names columns whose cells stay as written. Others come as float64
    where every cell is a number, white space and gaps aside (`core.table.cells`), else
    as text. `bounds`: see `read_table`.
    """
    return to_columns(read_table(source, bounds), text)


def read_table(source: Source, bounds: Bounds = UNBOUNDED) -> Any:
    """Read a pyarrow table, its format known by its first bytes.

    One that passes `bounds` is refused, before it is read where the file tells so.
    White space around names is no part of them; columns without a name are called as
    pandas calls them, "Unnamed: 0".
    """
    rule = "must be readable"
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
            table = read_csv(text, bounds)
    except (pa.ArrowException, csv.Error, OSError, UnicodeError, MemoryError) as error:
        if isinstance(error, MemoryError):
            rule = memory_rule(bounds)
        else:
            rule = encoding_rule(text) or rule
        raise RefusedError([Refusal("table", rule, short(error))]) from None
    refuse_more(table.num_rows, bounds.rows, "rows")
    table = table.rename_columns(tidy_names(table.column_names))
    refuse_long_cells(table, bounds.cell_bytes)
    return table


def refuse_long_cells(table: Any, most: int | None) -> None:
    """Refuse texts that are too long for a cell, naming the first two of a column."""
    if most is None:
        return
    refusals = []
    for name, cells in zip(table.column_names, table.columns, strict=True):
        rows = find_long(cells, most)
        if rows:
            rule = f"a cell may have at most {most:,} bytes"
            # Of CSV; an open quote makes one cell of all that follows.
            rule += "; is a quote left open?" * pa.types.is_string(cells.type)
            named = f"row {rows[0] + 1}" + " and more" * (len(rows) > 1)
            refusals.append(Refusal(f"column {name}", rule, rows=named))
    if refusals:
        raise RefusedError(refusals)


def find_long(cells: Any, most: int) -> list[int]:
    """Return the rows, from 0, of the first two texts with more than `most` bytes."""
    long_rows: list[int] = []
    start = 0
    for chunk in cells.chunks:
        is_coded = pa.types.is_dictionary(chunk.type)
        words = chunk.dictionary if is_coded else chunk
        if not is_measured(words.type):
            return []
        is_long = pc.greater(pc.binary_length(words), most)
        if pc.any(is_long).as_py():
            is_long = is_long.take(chunk.indices) if is_coded else is_long
            rows = pc.indices_nonzero(is_long)[:2].to_pylist()
            long_rows += [start + row for row in rows]
        start += len(chunk)
    return long_rows[:2]


def is_measured(kind: Any) -> bool:
    """Return whether cells of a type vary in length."""
    tests = (
        *(pa.types.is_string, pa.types.is_large_string),
        *(pa.types.is_binary, pa.types.is_large_binary),
    )
    return any(test(kind) for test in tests)


def memory_rule(bounds: Bounds) -> str:
    """Say that memory ran out, and how much there was."""
    if bounds.memory is None:
        return "reading must fit the memory"
    return f"reading must fit the memory, {bounds.memory / 1e6:,.0f} MB"


def short(error: Exception) -> str:
    """Return the first line of a library's message, cut."""
    line = str(error).splitlines()[0] if str(error) else type(error).__name__
    return line if len(line) <= 200 else f"{line[:197]}..."
