"""Read which cells of a table's rows say nothing, from the column `askless_case`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from askless.app.documents.session.cases import SilentNames, read_silent
from askless.core.arrays import BoolArray, IntArray
from askless.core.errors import Refusal, RefusedError
from askless.core.table.columns import Column, to_text_cells
from askless.core.table.spec import CASE_COLUMN

Read = TypeVar("Read")
RULE = "must be as the service writes it for a closed case"
NOTE = (
    "{n_rows} of {n_all} rows are logged cases: what was not asked there, refused or "
    "unknown says nothing, and held out they have the error and spend of what was asked"
)


@dataclass(frozen=True)
class SilentCells:
    """Maps each row to the position of what its own cell said."""

    places: IntArray
    documents: Sequence[SilentNames]

    def find(self, name: str) -> BoolArray:
        """Return which rows say nothing in a column, (n_rows,)."""
        is_silent = np.array([document.has(name) for document in self.documents], bool)
        silent_rows: BoolArray = is_silent[self.places]
        return silent_rows

    @property
    def warnings(self) -> tuple[str, ...]:
        """A note on closed cases among the rows, if there are any."""
        is_case = np.array([document.is_all_but for document in self.documents], bool)
        n_rows = int(is_case[self.places].sum())
        if not n_rows:
            return ()
        return (NOTE.format(n_rows=f"{n_rows:,}", n_all=f"{self.places.size:,}"),)


def read_silent_cells(columns: Mapping[str, Column]) -> SilentCells | None:
    """Return the silent cells of a table if it has any; raise RefusedError."""
    if CASE_COLUMN not in columns:
        return None
    return SilentCells(
        *read_case_cells(columns[CASE_COLUMN], read_silent, f"column {CASE_COLUMN}")
    )


def read_case_cells(
    column: Column, read: Callable[[str | None], Read], field: str
) -> tuple[IntArray, list[Read]]:
    """Read each distinct cell once; also return which one each row has, (n_rows,).

    Raises RefusedError, with `field`, for the first cell that `read` refuses.
    """
    cells = to_text_cells(column)
    documents: list[Read] = []
    for number, word in enumerate(cells.words):
        try:
            documents.append(read(word))
        except RefusedError:
            row = int(np.argmax(cells.numbers == number)) + 1
            raise RefusedError([Refusal(field, RULE, rows=f"row {row}")]) from None
    return cells.numbers.astype(np.int64), documents
