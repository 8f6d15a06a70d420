"""Files to columns: CSV (also compressed) and Parquet, through pyarrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from core.columns import Column
from core.errors import Refusal, RefusedError

MISSING_WORDS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
PARQUET_MAGIC = b"PAR1"
MAX_EXAMPLES = 5

Source = Path | IO[bytes]


def read_columns(source: Source, text: Collection[str] = ()) -> dict[str, Column]:
    """Read a table.

    `text` names columns whose cells are wanted as written. Others come as float64
    where every cell is a number, else as text. Empty cells and the words of
    `MISSING_WORDS` are missing.
    """
    return to_columns(read_table(source), text)


def to_columns(table: Any, text: Collection[str] = ()) -> dict[str, Column]:
    """Turn a pyarrow table into columns; see `read_columns`."""
    return {
        name: to_column(table.column(name), keep_text=name in text)
        for name in table.column_names
    }


def read_table(source: Source) -> Any:
    """Read a pyarrow table, its format known by its first bytes."""
    try:
        if isinstance(source, Path):
            with pa.input_stream(str(source), compression="detect") as stream:
                content = stream.read()
        else:
            content = source.read()
    except OSError as error:
        raise RefusedError(
            [Refusal("table", "must be readable", short(error))]
        ) from None
    is_parquet = content[: len(PARQUET_MAGIC)] == PARQUET_MAGIC
    table = read_parquet(content) if is_parquet else read_csv(content)
    refuse_names(table.column_names)
    return table


def read_parquet(content: bytes) -> Any:
    """Read a Parquet file."""
    try:
        return pyarrow.parquet.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        rule = "must be a whole Parquet file"
        raise RefusedError([Refusal("table", rule, short(error))]) from None


def read_csv(content: bytes) -> Any:
    """Read a CSV file with every cell as text, refusing rows of another length."""
    ragged: list[Any] = []

    def keep_ragged(row: Any) -> str:
        ragged.append(row)
        return "skip"

    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(content),
            # One thread, so that a refused row still has its number.
            read_options=pyarrow.csv.ReadOptions(use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(
                newlines_in_values=True, invalid_row_handler=keep_ragged
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(header_names(content), pa.string()),
                null_values=list(MISSING_WORDS),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        rule = "must be CSV in UTF-8 with a header, or Parquet"
        raise RefusedError([Refusal("table", rule, short(error))]) from None
    if ragged:
        rows = [
            Refusal(
                f"row {row.number - 1}",
                f"must have {row.expected_columns} cells",
                f"{row.actual_columns}",
            )
            for row in ragged[:MAX_EXAMPLES]
        ]
        rule = "every row must have as many cells as the header"
        raise RefusedError(
            [*rows, Refusal("table", rule, f"{len(ragged)} rows of another length")]
        )
    return table


def header_names(content: bytes) -> list[str]:
    """Give the names in a CSV's first line, so that all can be read as text."""
    head = pyarrow.csv.open_csv(
        pa.BufferReader(content),
        parse_options=pyarrow.csv.ParseOptions(
            newlines_in_values=True, invalid_row_handler=lambda _: "skip"
        ),
    )
    return list(head.schema.names)


def refuse_names(names: list[str]) -> None:
    """Refuse column names that are empty or stand twice."""
    refusals = [
        Refusal(f"column {name!r}", "names must be unique", f"{count} columns")
        for name, count in Counter(names).items()
        if count > 1
    ]
    if any(not name.strip() for name in names):
        refusals.append(Refusal("header", "every column must have a name"))
    if refusals:
        raise RefusedError(refusals)


def to_column(cells: Any, *, keep_text: bool) -> Column:
    """Turn an arrow column into float64, or into an array of str and None."""
    cells = cells.combine_chunks()
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    is_number = (
        pa.types.is_integer(cells.type)
        or pa.types.is_floating(cells.type)
        or pa.types.is_boolean(cells.type)
        or pa.types.is_decimal(cells.type)
        or pa.types.is_null(cells.type)
    )
    if not is_number:
        cells = cells.cast(pa.string())
        if not keep_text:
            try:
                cells = pc.utf8_trim_whitespace(cells).cast(pa.float64())
                is_number = True
            except pa.ArrowInvalid:
                is_number = False
    elif pa.types.is_boolean(cells.type) and keep_text:
        cells = cells.cast(pa.string())
        is_number = False
    if is_number:
        numbers = cells.cast(pa.float64(), safe=False)
        return np.array(numbers.fill_null(np.nan).to_numpy(zero_copy_only=False))
    texts = np.empty(len(cells), dtype=np.object_)
    texts[:] = cells.to_pylist()
    return texts


def short(error: Exception) -> str:
    """Give the first line of a library's message, cut."""
    line = str(error).splitlines()[0] if str(error) else type(error).__name__
    return line if len(line) <= 200 else f"{line[:197]}..."
