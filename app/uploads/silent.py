"""Reads which cells of a table's rows say nothing, from the column `askless_case`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.documents.cases import SilentNames, read_silent
from core.arrays import BoolArray, IntArray
from core.errors import CoreError, Refusal, RefusedError
from core.table.columns import Column, as_text
from core.table.spec import CASE_COLUMN

RULE = "must be as the service writes it for a closed case"
NOTE = (
    "{n_rows} of {n_all} rows are logged cases: what was not asked there, refused or "
    "unknown says nothing, and held out they have the error and spend of what was asked"
)


@dataclass(frozen=True)
class SilentCells:
    """What each row's own cell says: the position of its document, -1 for none."""

    places: IntArray
    documents: Sequence[SilentNames]

    def find(self, name: str) -> BoolArray:
        """Return which rows say nothing in a column, (n_rows,)."""
        # The last one is that of rows without a document.
        is_silent = np.array([one.has(name) for one in self.documents] + [False])
        found: BoolArray = is_silent[self.places]
        return found

    @property
    def warnings(self) -> tuple[str, ...]:
        """A note on logged cases among the rows, if there are any."""
        is_case = np.array([one.is_all_but for one in self.documents] + [False])
        n_rows = int(is_case[self.places].sum())
        if not n_rows:
            return ()
        return (NOTE.format(n_rows=f"{n_rows:,}", n_all=f"{self.places.size:,}"),)


def read_silent_cells(columns: Mapping[str, Column]) -> SilentCells | None:
    """Return the silent cells of a table; None where it has no such column.

    Raises RefusedError for a cell that is no document.
    """
    if CASE_COLUMN not in columns:
        return None
    cells = as_text(columns[CASE_COLUMN])
    documents: list[SilentNames] = []
    numbers = np.full(len(cells.words), -1, np.int64)
    for number, word in enumerate(cells.words):
        if word is None:
            continue
        try:
            document = read_silent(word)
        except (CoreError, ValueError, TypeError, AttributeError):
            row = int(np.argmax(cells.numbers == number)) + 1
            refusal = Refusal(f"column {CASE_COLUMN}", RULE, rows=f"row {row}")
            raise RefusedError([refusal]) from None
        numbers[number] = len(documents)
        documents.append(document)
    return SilentCells(numbers[cells.numbers], documents)
