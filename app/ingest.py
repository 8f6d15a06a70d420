"""Files to columns: CSV (also compressed) and Parquet, through pyarrow."""

import csv
import io
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from core.errors import Refusal, RefusedError
from core.table.cells import GAP_WORDS, MISSING_WORDS, UNNAMED
from core.table.columns import Column, refuse_size

PARQUET_MAGIC = b"PAR1"
COMMA = ","
# Of spreadsheets whose language has decimal commas, and of copied cells.
OTHER_SEPARATORS = (";", "\t")
MAX_EXAMPLES = 5
# No line of a CSV may be longer.
MAX_BLOCK = 2**28
# What reading takes at least: of a CSV per column (4.7 to 4.9 kB were measured), of
# Parquet per cell, which becomes a float64 or a pointer.
BYTES_PER_COLUMN = 4096
BYTES_PER_CELL = 8

Source = Path | IO[bytes]


def read_columns(
    source: Source, text: Collection[str] = (), memory: int | None = None
) -> dict[str, Column]:
    """Read a table.

    `text` names columns whose cells are wanted as written. Others come as float64
    where every cell is a number, white space and gaps aside (`core.table.cells`), else
    as text. `memory`: see `read_table`.
    """
    return to_columns(read_table(source, memory), text)


def to_columns(table: Any, text: Collection[str] = ()) -> dict[str, Column]:
    """Turn a pyarrow table into columns; see `read_columns`."""
    columns: dict[str, Column] = {}
    refusals = []
    for name in table.column_names:
        cells = table.column(name)
        try:
            columns[name] = to_column(cells, keep_text=name in text)
        except pa.ArrowException:
            rule = "must hold numbers, words, days or true and false: leave it out"
            refusals.append(Refusal(f"column {name}", rule, str(cells.type)))
    if refusals:
        raise RefusedError(refusals)
    return columns


def read_table(source: Source, memory: int | None = None) -> Any:
    """Read a pyarrow table, its format known by its first bytes.

    One that can't fit `memory`, the bytes that may still be taken, is refused before
    it takes them. White space around names is no part of them; columns without a name
    are called as pandas calls them, "Unnamed: 0".
    """
    rule = "must be readable"
    try:
        content = read_content(source, memory)
        if content[: len(PARQUET_MAGIC)] == PARQUET_MAGIC:
            rule = "must be a whole Parquet file"
            table = read_parquet(content, memory)
        else:
            rule = "must be CSV in UTF-8 with a header, or Parquet"
            table = read_csv(content, memory)
    except (pa.ArrowException, csv.Error, OSError, UnicodeError, MemoryError) as error:
        if isinstance(error, MemoryError):
            rule = "reading must fit the memory"
        raise RefusedError([Refusal("table", rule, short(error))]) from None
    names = [
        name.strip() or f"{UNNAMED}{position}"
        for position, name in enumerate(table.column_names)
    ]
    refuse_names(names)
    return table.rename_columns(names)


def read_content(source: Source, memory: int | None) -> bytes:
    """Read a file or an upload whole; a file may be compressed."""
    if not isinstance(source, Path):
        return source.read()
    refuse_unfit(source.stat().st_size, memory)
    with pa.input_stream(str(source), compression="detect") as stream:
        content: bytes = stream.read()
        return content


def refuse_unfit(needed: int, memory: int | None) -> None:
    """Refuse a table of which already the reading would take more than there is."""
    refusals = refuse_size("reading", needed, memory)
    if refusals:
        raise RefusedError(refusals)


def read_parquet(content: bytes, memory: int | None) -> Any:
    with pyarrow.parquet.ParquetFile(pa.BufferReader(content)) as file:
        n_cells = file.metadata.num_rows * file.metadata.num_columns
        refuse_unfit(n_cells * BYTES_PER_CELL, memory)
        return file.read()


def read_csv(content: bytes, memory: int | None) -> Any:
    """Read a CSV file with every cell as text, refusing rows of another length."""
    separator, names = read_header(content)
    refuse_unfit(len(content) + len(names) * BYTES_PER_COLUMN, memory)
    ragged: list[Any] = []

    def keep_ragged(row: Any) -> str:
        ragged.append(row)
        return "skip"

    table = pyarrow.csv.read_csv(
        pa.BufferReader(content),
        # One thread, so that a refused row still has its number. One block, so that
        # it holds any line; each has a price per column besides.
        read_options=pyarrow.csv.ReadOptions(
            use_threads=False, block_size=min(len(content) + 1, MAX_BLOCK)
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=separator,
            newlines_in_values=True,
            invalid_row_handler=keep_ragged,
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=list(MISSING_WORDS),
            # Text is neither true nor false, and tables of words cost memory.
            true_values=[],
            false_values=[],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )
    refuse_ragged(ragged)
    return table if separator == COMMA else with_points(table)


def refuse_ragged(rows: list[Any]) -> None:
    """Refuse rows that are shorter or longer than the header."""
    if not rows:
        return
    shown = [
        Refusal(
            f"row {row.number - 1}",
            f"must have {row.expected_columns} cells",
            f"{row.actual_columns}",
        )
        for row in rows[:MAX_EXAMPLES]
    ]
    rule = "every row must have as many cells as the header"
    raise RefusedError(
        [*shown, Refusal("table", rule, f"{len(rows)} rows of another length")]
    )


def read_header(content: bytes) -> tuple[str, list[str]]:
    """Return what separates cells, and the names in a CSV's first line.

    A comma, unless the line has none and another separator. Not by pyarrow, which
    would guess the types of the columns and take 8 kB for each.
    """
    split: dict[str, list[str]] = {}
    for separator in (COMMA, *OTHER_SEPARATORS):
        lines = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="")
        rows = csv.reader(lines, delimiter=separator)
        split[separator] = next(filter(None, rows), [])
        if len(split[separator]) > 1:
            return separator, split[separator]
    return COMMA, split[COMMA]


def with_points(table: Any) -> Any:
    """Return a table with decimal commas as points.

    They are what spreadsheets write where a semicolon separates.
    """
    columns = (
        pc.replace_substring_regex(
            column, pattern=r"^(\s*[-+]?\d+),(\d+\s*)$", replacement=r"\1.\2"
        )
        for column in table.columns
    )
    return pa.table(list(columns), names=table.column_names)


def refuse_names(names: list[str]) -> None:
    """Refuse column names that stand twice."""
    refusals = [
        Refusal(f"column {name!r}", "names must be unique", f"{count} columns")
        for name, count in Counter(names).items()
        if count > 1
    ]
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
        or pa.types.is_decimal(cells.type)
        or pa.types.is_null(cells.type)
    )
    if not is_number:
        # The words true and false where the file has booleans.
        keep_text |= pa.types.is_boolean(cells.type)
        cells = cells.cast(pa.string())
        numbers = None if keep_text else as_numbers(cells)
        if numbers is not None:
            cells, is_number = numbers, True
    if is_number:
        numbers = cells.cast(pa.float64(), safe=False)
        return np.array(numbers.fill_null(np.nan).to_numpy(zero_copy_only=False))
    texts = np.empty(len(cells), dtype=np.object_)
    texts[:] = cells.to_pylist()
    return texts


def as_numbers(cells: Any) -> Any:
    """Return texts as float64, gaps among them as null; None if others are left."""
    trimmed = pc.utf8_trim_whitespace(cells)
    with suppress(pa.ArrowInvalid):
        return trimmed.cast(pa.float64())
    words = pa.array([*MISSING_WORDS, *GAP_WORDS])
    is_gap = pc.or_(
        pc.is_in(trimmed, value_set=words),
        pc.is_in(pc.utf8_lower(trimmed), value_set=words),
    )
    known = trimmed.filter(pc.fill_null(pc.invert(is_gap), False))
    with suppress(pa.ArrowInvalid):
        known.cast(pa.float64())
        kept = pc.if_else(is_gap, pa.scalar(None, pa.string()), trimmed)
        # A column of gaps alone says nothing of numbers.
        return kept.cast(pa.float64()) if len(known) else None
    return None


def short(error: Exception) -> str:
    """Return the first line of a library's message, cut."""
    line = str(error).splitlines()[0] if str(error) else type(error).__name__
    return line if len(line) <= 200 else f"{line[:197]}..."
