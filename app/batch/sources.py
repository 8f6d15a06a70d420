"""Tables whose rows are read in parts: in memory, or by the row groups of a file."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from app.uploads import Bounds, read_table, to_columns
from app.uploads.places import is_streamed
from app.uploads.streams import StreamedTable, open_table
from core.table.columns import Columns

# Of a table in memory; what a process is handed at a time, at least.
PART_ROWS = 1 << 14
# Of a row group that is larger: each of its parts costs its decoding, 0.25 s of a
# million rows x 46 columns, which take 10 s to predict.
GROUP_PART_ROWS = 1 << 17
# Parts that a process has at least, so that none waits long for the last one.
N_PARTS = 4


class WantedColumns(NamedTuple):
    """Columns that are read as values, and columns that are handed through."""

    names: list[str]
    kept: list[str]


class TablePart(NamedTuple):
    """Some rows that follow one another; `kept` is an arrow table."""

    start: int
    n_rows: int
    columns: Columns
    kept: Any


class PartReader(Protocol):
    """What reads a part, in this process or in another one that it is sent to."""

    def read(self) -> TablePart: ...


class RowSource(Protocol):
    """A table that is read part by part, its columns of one kind throughout."""

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def spans(self) -> Sequence[tuple[int, int]]:
        """The rows of each part, from and up to."""
        ...

    def part(self, number: int, wanted: WantedColumns) -> PartReader: ...

    def share(self, n_processes: int) -> "RowSource":
        """Return the same table in parts that so many processes can share."""
        ...

    def whole(self, names: Sequence[str]) -> Columns:
        """Return whole columns, those that are there."""
        ...


@dataclass(frozen=True)
class HeldPart:
    """A part that was read already."""

    found: TablePart

    def read(self) -> TablePart:
        return self.found


@dataclass
class MemoryRows:
    """An arrow table, as `app.uploads.read_table` gives it.

    `text`: columns whose cells are wanted as written.
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

    def part(self, number: int, wanted: WantedColumns) -> HeldPart:
        start, stop = self.spans[number]
        columns = self.whole(wanted.names)
        return HeldPart(
            TablePart(
                start,
                stop - start,
                {name: column[start:stop] for name, column in columns.items()},
                self.table.select(wanted.kept).slice(start, stop - start),
            )
        )

    def whole(self, names: Sequence[str]) -> Columns:
        new = [name for name in names if name not in self.columns]
        self.columns |= to_columns(self.table.select(new), self.text)
        return {name: self.columns[name] for name in names}


@dataclass(frozen=True)
class StreamedPart:
    """Some rows of a table in files, read where they are asked for."""

    table: StreamedTable
    start: int
    stop: int
    wanted: WantedColumns

    def read(self) -> TablePart:
        span = self.start, self.stop
        columns = self.table.read_rows(*span, self.wanted.names)
        kept = {name: self.table.read_cells(*span, name) for name in self.wanted.kept}
        n_rows = self.stop - self.start
        return TablePart(self.start, n_rows, columns, pa.table(kept))


@dataclass(frozen=True)
class StreamedRows:
    """A table in Parquet files, of which no more than row groups are in memory."""

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

    def part(self, number: int, wanted: WantedColumns) -> StreamedPart:
        self.table.decide(wanted.names)
        return StreamedPart(self.table, *self.spans[number], wanted)

    def whole(self, names: Sequence[str]) -> Columns:
        return {name: self.table[name] for name in names}


def open_rows(source: Path | str, text: frozenset[str], bounds: Bounds) -> RowSource:
    """Open a table: Parquet by its row groups, any other file whole."""
    if isinstance(source, Path) and not is_streamed(source):
        return MemoryRows(read_table(source, bounds), text)
    return StreamedRows(open_table(source, text, bounds))
