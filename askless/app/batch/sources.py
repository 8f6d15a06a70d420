"""Tables whose rows are read in parts, from memory or from Parquet files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from askless.app.uploads import Bounds
from askless.app.uploads.streams import HeldTable, StreamedTable, open_table
from askless.core.table.columns import Columns

# The fewest rows that a process gets.
PART_ROWS = 1 << 14
# Rows of a part of a larger row group. Each part decodes the whole group: 0.25 s for a
# million rows x 46 columns, which take 10 s to predict.
GROUP_PART_ROWS = 1 << 17
# Least parts for each process, so that none waits long for the last one.
N_PARTS = 4


class ColumnChoice(NamedTuple):
    """Columns that are read as values, and columns that are kept as they are."""

    names: list[str]
    kept: list[str]


class TablePart(NamedTuple):
    """Consecutive rows of a table; `kept` is an arrow table."""

    start: int
    n_rows: int
    columns: Columns
    kept: Any


class PartReader(Protocol):
    """Reads a part, in this process or in another one that it is sent to."""

    def read(self) -> TablePart: ...


@dataclass(frozen=True)
class HeldPart:
    """A part that is in memory already."""

    held: TablePart

    def read(self) -> TablePart:
        return self.held


@dataclass(frozen=True)
class StreamedPart:
    """Some rows of a table in files, read when they are needed."""

    table: StreamedTable
    start: int
    stop: int
    choice: ColumnChoice

    def read(self) -> TablePart:
        span = self.start, self.stop
        columns = self.table.read_rows(*span, self.choice.names)
        kept = {name: self.table.read_cells(*span, name) for name in self.choice.kept}
        n_rows = self.stop - self.start
        return TablePart(self.start, n_rows, columns, pa.table(kept))


@dataclass(frozen=True)
class RowSource:
    """A table that is read part by part; a column has one type in all of them."""

    table: StreamedTable
    #: a row group that is longer is read in parts
    part_rows: int = GROUP_PART_ROWS

    @property
    def names(self) -> Sequence[str]:
        return list(self.table)

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """The first row of each part, and the row after its last."""
        return [
            (start, min(start + self.part_rows, group.stop))
            for group in self.table.ranges
            for start in range(group.start, group.stop, self.part_rows)
        ]

    def share(self, n_processes: int) -> "RowSource":
        """Return the same table, cut into parts for `n_processes` processes."""
        each = -(-self.n_rows // (N_PARTS * n_processes))
        if n_processes == 1 or each >= self.part_rows:
            return self
        return replace(self, part_rows=max(each, PART_ROWS))

    def part(self, number: int, choice: ColumnChoice) -> PartReader:
        self.table.decide_types(choice.names)
        part = StreamedPart(self.table, *self.spans[number], choice)
        # A process that reads the part needs its rows alone.
        return HeldPart(part.read()) if isinstance(self.table, HeldTable) else part

    def whole(self, names: Sequence[str]) -> Columns:
        return self.table.read_rows(0, self.n_rows, names)


def open_rows(source: Path | str, text: frozenset[str], bounds: Bounds) -> RowSource:
    """Open a table by its row groups; see `open_table`."""
    return RowSource(open_table(source, text, bounds))
