"""Read CSV as pyarrow tables of text, after finding the separator."""

import csv
import io
import re
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from askless.app.uploads.bounds import (
    Bounds,
    refuse_too_large_for_memory,
    refuse_too_many,
)
from askless.app.uploads.columns import WRITTEN
from askless.core.errors import Refusal, RefusedError
from askless.core.table.texts.numbers import SPACERS

COMMA = ","
# In order of preference; spreadsheets with decimal commas write semicolons, copied
# cells have tabs, and databases write bars.
SEPARATORS = (COMMA, ";", "\t", "|")
# A first line by Excel, which names the separator.
NAMED_SEPARATOR = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=(.)"?\r?\n')
# A number with a decimal comma, also between signs, a currency and a unit: € 12,50,
# 3,5 %, (1 234,50).
DECIMAL_COMMA = (
    r"^([^\p{L}\d,.]*(?:[A-Z]{1,3}[^\p{L}\d,.]*)?"
    rf"(?:\d+|\d{{1,3}}(?:[{SPACERS}]\d{{3}})+))"
    r",(\d+\s*(?:\p{Sc}|[%‰°µμ]\S{0,15}|\p{L}\S{0,15})?[-)\s]*)$"
)
FORMULA_TEXT = r'^\s*="([^"]*)"\s*$'
COMMA_THOUSANDS = r"^[^\d,.]*\d{1,3}(,\d{3})+(,\d{3}|\.\d*)[^\d,.]*$"
# Points part thousands before a decimal comma: 1.234,50; then 1.234 has thousands, too.
POINT_THOUSANDS = r"^[^\d,.]*\d{1,3}(\.\d{3})+(,\d+|(\.\d{3})+)[^\d,.]*$"
PARTED_BY_POINTS = r"^[^\d,.]*\d{1,3}(\.\d{3})+(,\d+)?[^\d,.]*$"
# Rows that decide which character separates cells.
SAMPLE_ROWS = 20
# Letters of a cell of the first rows; longer ones are for the whole file's reader.
LONGEST = 131_072
MAX_EXAMPLES = 5
# Reading ends after so many rows of a wrong length.
MAX_RAGGED = 1000
# Most bytes in a line.
MAX_BLOCK = 2**28
# Most bytes of the header for each column.
MAX_NAME_BYTES = 1024
# Least bytes of memory that reading takes per column; 4.7 to 4.9 kB were measured.
BYTES_PER_COLUMN = 4096


class ThousandsSigns(NamedTuple):
    """The columns in which commas, or points, part thousands."""

    commas: frozenset[str] = frozenset()
    points: frozenset[str] = frozenset()

    def __or__(self, other: "ThousandsSigns") -> "ThousandsSigns":
        return ThousandsSigns(self.commas | other.commas, self.points | other.points)


class Dialect(NamedTuple):
    """The separator and the quotes of a CSV, and where its header begins."""

    separator: str
    start: int
    names: list[str]
    quote: str = '"'


def read_csv(
    content: bytes, bounds: Bounds, skipped: list[Refusal] | None = None
) -> Any:
    """Read a CSV file with every cell as text; refuse rows of another length.

    With a list `skipped` such rows are left out, and their refusals added to it.
    """
    dialect = detect_dialect(content, bounds)
    n_columns = len(dialect.names)
    refuse_too_many(n_columns, bounds.columns, "columns")
    refuse_long_line(content, n_columns, bounds)
    refuse_too_large_for_memory(
        len(content) + n_columns * BYTES_PER_COLUMN, bounds.memory
    )
    ragged: list[Any] = []

    def keep_ragged(row: Any) -> str:
        ragged.append(row)
        return "skip" if len(ragged) < MAX_RAGGED else "error"

    try:
        table = parse_csv(content, dialect, keep_ragged)
    except pa.ArrowInvalid:
        refuse_ragged(ragged)
        raise
    refuse_ragged(ragged, skipped)
    if dialect.separator != COMMA:
        table = replace_decimal_commas(table, find_thousands(table))
    return table.cast(mark_written(table.schema, dialect.separator))


def mark_written(schema: Any, separator: str) -> Any:
    """Return the schema of a CSV: its texts have no type yet, but a separator."""
    metadata = {WRITTEN: separator.encode()}
    return pa.schema(field.with_metadata(metadata) for field in schema)


def parse_csv(content: bytes, dialect: Dialect, keep_ragged: Any) -> Any:
    """Return a CSV as a table; `keep_ragged` is called with rows of wrong length."""
    return pyarrow.csv.read_csv(
        pa.BufferReader(pa.py_buffer(content).slice(dialect.start)),
        # One block, so that it holds any line; each has a price per column besides.
        **arrow_options(dialect, min(len(content) + 1, MAX_BLOCK), keep_ragged),
    )


def arrow_options(
    dialect: Dialect, block_size: int, keep_ragged: Any
) -> dict[str, Any]:
    """Return the options by which pyarrow reads every cell as text."""
    return {
        # One thread, so that a refused row still has its number.
        "read_options": pyarrow.csv.ReadOptions(
            use_threads=False, block_size=block_size
        ),
        "parse_options": pyarrow.csv.ParseOptions(
            delimiter=dialect.separator,
            quote_char=dialect.quote,
            newlines_in_values=True,
            invalid_row_handler=keep_ragged,
        ),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(dialect.names, pa.string()),
            # Which words mean missing is said by the spec.
            null_values=[""],
            # Text is neither true nor false, and tables of words cost memory.
            true_values=[],
            false_values=[],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    }


def refuse_ragged(rows: list[Any], skipped: list[Refusal] | None = None) -> None:
    """Refuse rows that are shorter or longer than the header.

    With a list `skipped` fewer than `MAX_RAGGED` are not refused, but added to it.
    """
    refusals = [
        Refusal(
            f"row {row.number - 1}",
            f"must have {row.expected_columns} cells",
            f"{row.actual_columns}",
        )
        for row in rows
    ]
    if skipped is not None and len(rows) < MAX_RAGGED:
        skipped += refusals
    elif rows:
        rule = "every row must have as many cells as the header"
        lengths, expected = (
            {row.actual_columns for row in rows},
            rows[0].expected_columns,
        )
        if lengths == {expected + 1} and expected > 1:
            rule += "; name the column of row names, or end no row with a separator"
        elif len(lengths) == 1 and max(lengths) > expected:
            rule += ", the first line; take away what stands above it"
        count = f"{len(rows)}{' or more' * (len(rows) >= MAX_RAGGED)}"
        whole = Refusal("table", rule, f"{count} rows of another length")
        raise RefusedError([*refusals[:MAX_EXAMPLES], whole])


def detect_dialect(content: bytes, bounds: Bounds) -> Dialect:
    """Return a CSV's separator, where its header begins, and the names in it.

    The separator is the one by which the first rows have equal lengths, the most cells
    and then the first; else the first in the header; else a comma. Names in '…' have
    their quotes, and all cells may have them. pyarrow would need 8 kB for each column,
    since it guesses types.
    """
    refuse_long_header(content, bounds)
    named = NAMED_SEPARATOR.match(content)
    start = named.end() if named else 0
    separators = (named[1].decode("latin-1"),) if named else SEPARATORS
    rows_by_separator: dict[str, list[list[str]]] = {}
    failure: csv.Error | None = None
    for candidate in separators:
        try:
            rows_by_separator[candidate] = read_first_rows(content, start, candidate)
        except csv.Error as error:
            # Another separator may split the header into shorter cells.
            failure = error
    if failure is not None and not rows_by_separator:
        raise failure
    wide = [
        candidate for candidate, rows in rows_by_separator.items() if len(rows[0]) > 1
    ]
    even = [
        candidate
        for candidate in wide
        if len({len(row) for row in rows_by_separator[candidate]}) == 1
    ]
    # Decimal commas may part each row into equally many cells, too.
    even.sort(key=lambda candidate: -len(rows_by_separator[candidate][0]))
    separator = next(iter(even + wide), next(iter(rows_by_separator)))
    names = rows_by_separator[separator][0]
    if all(re.fullmatch("'.*'", name.strip()) for name in names):
        names = read_first_rows(content, start, separator, "'")[0]
        return Dialect(separator, start, names, "'")
    return Dialect(separator, start, names)


def read_first_rows(
    content: bytes, start: int, separator: str, quote: str = '"'
) -> list[list[str]]:
    """Return the header and the first `SAMPLE_ROWS` rows, split by a separator."""
    raw = io.BytesIO(content)
    raw.seek(start)
    lines = io.TextIOWrapper(raw, "utf-8-sig", newline="")
    csv.field_size_limit(LONGEST)
    rows = filter(None, csv.reader(lines, delimiter=separator, quotechar=quote))
    first_rows = [next(rows, [])]
    try:
        first_rows.extend(islice(rows, SAMPLE_ROWS))
    except csv.Error:
        # A cell is too long; reading the whole file reports where.
        first_rows.append([])
    return first_rows


def refuse_long_header(content: bytes, bounds: Bounds) -> None:
    """Refuse a first line that is longer than any header, before it is split."""
    if bounds.columns is None:
        return
    most = bounds.columns * MAX_NAME_BYTES
    ends = [content.find(end, 0, most + 1) for end in (b"\n", b"\r")]
    if len(content) > most and max(ends) < 0:
        rule = f"must have a first line, its header, of at most {most:,} bytes"
        raise RefusedError([Refusal("table", rule)])


def refuse_long_line(content: bytes, n_columns: int, bounds: Bounds) -> None:
    """Refuse a line that is longer than its cells may be, before it is split."""
    if bounds.cell_bytes is None:
        return
    # The worst cell is all quotes, doubled, between quotes, with a separator.
    most = n_columns * (2 * bounds.cell_bytes + 3)
    start = 0
    while len(content) - start > most:
        ends = [content.rfind(end, start, start + most) for end in (b"\n", b"\r")]
        # `rfind` returns -1 where there is no line end: then one line fills the window.
        if max(ends) < 0:
            line = content.count(b"\n", 0, start) + 1
            rule = f"must have lines of at most {most:,} bytes; not so in line {line}"
            raise RefusedError([Refusal("table", rule)])
        start = max(ends) + 1


def replace_decimal_commas(table: Any, thousands: ThousandsSigns) -> Any:
    """Replace decimal commas by points in a table or a batch of its rows.

    Spreadsheets write such commas where a semicolon separates cells. `thousands` says
    in which columns commas or points part thousands (`find_thousands`).
    """
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name not in thousands.commas:
            column = pc.replace_substring_regex(
                column, pattern=FORMULA_TEXT, replacement=r"\1"
            )
            if name in thousands.points:
                is_parted = pc.match_substring_regex(column, pattern=PARTED_BY_POINTS)
                plain = pc.replace_substring(column, pattern=".", replacement="")
                column = pc.if_else(is_parted, plain, column)
            column = pc.replace_substring_regex(
                column, pattern=DECIMAL_COMMA, replacement=r"\1.\2"
            )
        columns.append(column)
    return pa.table(columns, names=table.column_names)


def find_thousands(table: Any) -> ThousandsSigns:
    """Return the columns with a cell in which commas, or points, part thousands."""

    def find(pattern: str) -> frozenset[str]:
        pairs = zip(table.column_names, table.columns, strict=True)
        return frozenset(
            name
            for name, column in pairs
            if pc.any(pc.match_substring_regex(column, pattern=pattern)).as_py()
        )

    return ThousandsSigns(find(COMMA_THOUSANDS), find(POINT_THOUSANDS))
