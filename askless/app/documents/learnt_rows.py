"""Rows in JSON as a table, which is read as an upload is."""

import csv
import io
from collections.abc import Mapping, Sequence

from askless.app.documents.fields import Cell
from askless.core.table.cells import number_text


def rows_to_csv(rows: Sequence[Mapping[str, Cell]]) -> bytes:
    """Return rows as a CSV with all of their fields; absent fields are empty.

    Columns are in the order in which they come up.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([cell_text(row.get(name)) for name in names])
    return text.getvalue().encode()


def cell_text(cell: Cell) -> str:
    """Return a value as the text of a cell that is read as this value."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return number_text(cell)
    return str(cell)
