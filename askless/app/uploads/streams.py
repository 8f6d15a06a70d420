"""Reads tables in pieces: one column, or some rows, at a time."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np
import pyarrow as pa

from askless.app.uploads.bounds import UNBOUNDED, Bounds, refuse_more
from askless.app.uploads.coded import as_coded, join_texts
from askless.app.uploads.columns import TYPE_RULE, to_column
from askless.app.uploads.kinds import holds_numbers
from askless.app.uploads.names import tidy_names
from askless.app.uploads.places import (
    TableFile,
    file_error,
    find_file,
    find_table_files,
    is_large_csv,
)
from askless.app.uploads.scratch import write_scratch
from askless.core.errors import Refusal, RefusedError
from askless.core.table.columns import Column

# Rows of a row group that are decoded at a time.
ROWS = 1 << 20


class RowGroup(NamedTuple):
    """A row group: its file, its number there, and its rows in the table."""

    file: TableFile
    number: int
    start: int
    stop: int


class StreamedTable(Mapping[str, Column]):
    """The columns of a table in Parquet files; each is read on access.

    Columns are as `askless.app.uploads.read_columns` returns them, and are not kept.
    `n_rows` and the row groups, `spans`, come from the footers. Each read raises
    RefusedError if a file has changed since the table was opened.
    """

    def __init__(
        self,
        files: Sequence[TableFile],
        text: Collection[str],
        bounds: Bounds,
        *,
        is_coded: bool = True,
    ) -> None:
        # Whether texts stay in dictionaries. Texts from CSV never were in one, and
        # missing cells are treated differently there.
        self._is_coded = is_coded
        self.files: list[TableFile] = []
        self._text = frozenset(text)
        self.spans: list[RowGroup] = []
        self.n_rows = 0
        self._footers: dict[str, Any] = {}
        schema = None
        for listed in files:
            file = find_file(listed.system, listed.path)
            with file.open() as opened:
                footer, file_schema = opened.metadata, opened.schema_arrow
            self.files.append(file)
            self._footers[file.path] = footer
            refuse_more(footer.num_columns, bounds.columns, "columns")
            # The first file decides the columns that all others must have.
            schema = schema or file_schema
            refuse_schema(file, file_schema, self.files[0], schema)
            for number in range(footer.num_row_groups):
                stop = self.n_rows + footer.row_group(number).num_rows
                self.spans.append(RowGroup(file, number, self.n_rows, stop))
                self.n_rows = stop
            refuse_more(self.n_rows, bounds.rows, "rows")
        assert schema is not None, "a table has a file"
        self._fields = dict(zip(tidy_names(schema.names), schema, strict=True))
        self._is_number: dict[str, bool] = {}

    def __len__(self) -> int:
        return len(self._fields)

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    # A mapping's own method would read the column.
    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __getitem__(self, name: str) -> Column:
        try:
            column = self._read_column(name)
        except pa.ArrowException:
            kind = str(self._fields[name].type)
            raise RefusedError([Refusal(f"column {name}", TYPE_RULE, kind)]) from None
        # The library keeps freed memory until it is asked to release it.
        pa.default_memory_pool().release_unused()
        return column

    def read_rows(
        self, start: int, stop: int, names: Collection[str]
    ) -> dict[str, Column]:
        """Return some rows of some columns, with the types of the whole columns."""
        self.decide_types(names)
        columns: dict[str, Column] = {}
        refusals = []
        for name in names:
            try:
                columns[name] = self._convert(name, self.read_cells(start, stop, name))
            except pa.ArrowException:
                kind = str(self._fields[name].type)
                refusals.append(Refusal(f"column {name}", TYPE_RULE, kind))
        if refusals:
            raise RefusedError(refusals)
        return columns

    def read_cells(self, start: int, stop: int, name: str) -> Any:
        """Return some rows of a column as an arrow column, not converted."""
        # `slice` cuts a length that goes beyond the end of a row group.
        parts = [
            cells.slice(max(0, start - first), stop - max(start, first))
            for first, cells in self._read_cells(name, start, stop)
        ]
        return pa.chunked_array(parts, None if parts else self._fields[name].type)

    def decide_types(self, names: Collection[str]) -> None:
        """Decide once which columns hold numbers, reading one row group at a time.

        `read_rows` does so itself. Call it before the table is sent to other processes,
        so that they need not.
        """
        for name in names:
            if name not in self._is_number:
                groups = self._read_cells(name)
                self._is_number[name] = holds_numbers(
                    self._fields[name].type,
                    (cells for _, cells in groups),
                    keep_text=name in self._text,
                )

    def _convert(self, name: str, cells: Any) -> Column:
        """Convert cells to the type that the whole column has."""
        is_number = self._is_number[name]
        column = to_column(cells, keep_text=not is_number)
        if is_number and column.dtype != np.float64:
            # These cells are all gaps, in a column that has numbers elsewhere.
            return np.full(len(column), np.nan)
        return column

    def _read_column(self, name: str) -> Column:
        """Read a whole column: float64, or an array of str and None."""
        self.decide_types([name])
        groups = self._read_cells(name)
        if not self._is_number[name]:
            return join_texts((as_coded(cells) for _, cells in groups), self.n_rows)
        numbers = np.empty(self.n_rows)
        for first, cells in groups:
            numbers[first : first + len(cells)] = self._convert(name, cells)
        return numbers

    def _read_cells(
        self, name: str, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Yield cells and first row of each row group that has some of the rows."""
        field, last = self._fields[name], self.n_rows if stop is None else stop
        is_coded = self._is_coded and is_texts(field.type)
        groups = [one for one in self.spans if one.start < last and start < one.stop]
        for path, spans in groupby(groups, lambda span: span.file.path):
            file_groups = list(spans)
            with file_groups[0].file.open(
                self._footers[path], [field.name] * is_coded
            ) as opened:
                read = read_groups(opened, file_groups, field.name)
                yield from (
                    (first, cells)
                    for first, cells in read
                    if first < last and start < first + len(cells)
                )
            file_groups[0].file.refuse_changed()


def open_table(
    source: Path | str,
    text: Collection[str] = (),
    bounds: Bounds = UNBOUNDED,
    skipped: list[Refusal] | None = None,
) -> StreamedTable:
    """Open a table in one Parquet file or several: see `find_table_files`.

    `text`, `bounds` and `skipped` are as in `askless.app.uploads`; only footers are
    read. A large CSV is first copied into a Parquet file, which is removed with the
    table.
    """
    if isinstance(source, Path) and is_large_csv(source):
        file, release = write_scratch(source, bounds, skipped=skipped)
        table = StreamedTable([file], text, bounds, is_coded=False)
        finalize(table, release)
        return table
    return StreamedTable(find_table_files(source), text, bounds)


def read_groups(
    opened: Any, groups: Sequence[RowGroup], name: str
) -> Iterator[tuple[int, Any]]:
    """Yield the cells of a column by row group, each with its first row.

    A large row group is yielded in batches. Raises RefusedError if the file can't be
    read, or has changed.
    """
    first = groups[0].start
    try:
        for batch in opened.iter_batches(
            ROWS, [one.number for one in groups], columns=[name], use_threads=False
        ):
            yield first, batch.column(0)
            first += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        # A file that changed while it was read is refused for that reason.
        groups[0].file.refuse_changed()
        raise file_error(groups[0].file.name, error) from None


def refuse_schema(
    file: TableFile, schema: Any, first: TableFile, expected: Any
) -> None:
    """Refuse a file whose columns differ from those of the first file."""
    where = f"table {file.name}"
    if schema.names != expected.names:
        odd = sorted(set(schema.names) ^ set(expected.names)) or ["their order"]
        rule = f"must have the columns of {first.name}"
        raise RefusedError([Refusal(where, rule, f"not so: {', '.join(odd[:5])}")])
    refusals = [
        Refusal(
            where, f"column {one.name} must be {other.type}, as in {first.name}", kind
        )
        for one, other in zip(schema, expected, strict=True)
        if (kind := str(one.type)) != str(other.type)
    ]
    if refusals:
        raise RefusedError(refusals)


def is_texts(kind: Any) -> bool:
    """Return whether a type is text, which can stay in a dictionary."""
    if pa.types.is_dictionary(kind):
        return is_texts(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
