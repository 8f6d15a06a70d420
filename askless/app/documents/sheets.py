"""CSV for people, whose spreadsheets run some cells as formulas.

A cell that begins as a formula gets an apostrophe before it (OWASP, "CSV injection").
Every CSV that the service gives goes through `quote_formula`, unless `raw` is asked
for. Numbers stay as they are. Rows in JSON become a CSV that is read as an upload is.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO

from askless.app.documents.fields import Cell
from askless.core.table.cells import write_cell
from askless.core.table.texts.numbers import parse_number

# The start of a cell that spreadsheets run as a formula, also with full-width signs.
# A file with decimal commas separates its cells by semicolons.
FORMULA = re.compile("(^|;[ \"']*)(?=[=+\\-@\t\r\n\uff0b\uff0d\uff1d\uff20])")
# Rows that are written at a time.
BLOCK = 1000


def quote_formula(cell: str) -> str:
    """Return a cell as text that no spreadsheet runs."""
    if not cell or parse_number(cell) is not None:
        return cell
    return FORMULA.sub(r"\1'", cell)


def write_lines(rows: Iterable[Iterable[str]], end: str = "\r\n") -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator=end).writerows(rows)
    return text.getvalue()


def quote_file(file: IO[bytes]) -> Iterator[bytes]:
    """Yield a CSV in UTF-8 with each of its cells quoted, in blocks of rows."""
    # One limit for the whole process: cells were limited when they were read.
    csv.field_size_limit(2**31 - 1)
    block: list[list[str]] = []
    text = io.TextIOWrapper(file, "utf-8", newline="")
    try:
        for row in csv.reader(text):
            block.append([quote_formula(cell) for cell in row])
            if len(block) == BLOCK:
                yield write_lines(block, "\n").encode()
                block = []
        yield write_lines(block, "\n").encode()
    finally:
        # The file is its opener's to close.
        text.detach()


def rows_to_csv(rows: Sequence[Mapping[str, Cell]]) -> bytes:
    """Return rows as a CSV of all their fields in order of appearance."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = ([write_cell(row.get(name)) or "" for name in names] for row in rows)
    return write_lines([names, *cells], "\n").encode()
