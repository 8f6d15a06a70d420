"""Tables whose rows are read in parts, from memory or from Parquet files."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from askless.app.uploads import Bounds, read_table, to_columns
from askless.app.uploads.places import is_streamed
from askless.app.uploads.streams import StreamedTable, open_table
from askless.core.table.columns import Columns

# Rows of a part of a table in memory; the fewest that a process gets.
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


class RowSource(Protocol):
    """A table that is read part by part; a column has one type in all of them."""

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def spans(self) -> Sequence[tuple[int, int]]:
        """The first row of each part, and the row after its last."""
        ...

    def part(self, number: int, choice: ColumnChoice) -> PartReader: ...

    def share(self, n_processes: int) -> "RowSource":
        """Return the same table, cut into parts for `n_processes` processes."""
        ...

    def whole(self, names: Sequence[str]) -> Columns:
        """Return whole columns by name."""
        ...


@dataclass(frozen=True)
class HeldPart:
    """A part that is in memory already."""

    held: TablePart

    def read(self) -> TablePart:
        return self.held


@dataclass
class MemoryRows:
    """An arrow table, as `askless.app.uploads.read_table` gives it.

    `text`: columns whose cells are read as text.
    """

    table: Any
    text: frozenset[str]
    columns: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> Sequence[str]:
        names: list[str] = self.table.column_names
        return names

    @property
    def n_rows(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        starts = range(0, self.n_rows, PART_ROWS)
        return [(one, min(one + PART_ROWS, self.n_rows)) for one in starts]

    def share(self, n_processes: int) -> "MemoryRows":
        del n_processes
        return self

    def part(self, number: int, choice: ColumnChoice) -> HeldPart:
        start, stop = self.spans[number]
        columns = self.whole(choice.names)
        return HeldPart(
            TablePart(
                start,
                stop - start,
                {name: column[start:stop] for name, column in columns.items()},
                self.table.select(choice.kept).slice(start, stop - start),
            )
        )

    def whole(self, names: Sequence[str]) -> Columns:
        new = [name for name in names if name not in self.columns]
        self.columns |= to_columns(self.table.select(new), self.text)
        return {name: self.columns[name] for name in names}


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
class StreamedRows:
    """A table in Parquet files, of which single row groups are in memory."""

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
        return [
            (start, min(start + self.part_rows, group.stop))
            for group in self.table.spans
            for start in range(group.start, group.stop, self.part_rows)
        ]

    def share(self, n_processes: int) -> "StreamedRows":
        each = -(-self.n_rows // (N_PARTS * n_processes))
        if n_processes == 1 or each >= self.part_rows:
            return self
        return replace(self, part_rows=max(each, PART_ROWS))

    def part(self, number: int, choice: ColumnChoice) -> StreamedPart:
        self.table.decide_types(choice.names)
        return StreamedPart(self.table, *self.spans[number], choice)

    def whole(self, names: Sequence[str]) -> Columns:
        return {name: self.table[name] for name in names}


def open_rows(source: Path | str, text: frozenset[str], bounds: Bounds) -> RowSource:
    """Open a table: Parquet by its row groups, any other file whole."""
    if isinstance(source, Path) and not is_streamed(source):
        return MemoryRows(read_table(source, bounds), text)
    return StreamedRows(open_table(source, text, bounds))
