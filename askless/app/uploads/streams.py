"""Read tables in pieces: one column, or some rows, at a time."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from weakref import finalize

import pyarrow as pa

from askless.app.uploads import read_table, tidy_names
from askless.app.uploads.bounds import UNBOUNDED, Bounds, refuse_too_many
from askless.app.uploads.columns import (
    TYPE_RULE,
    WRITTEN,
    holds_numbers,
    is_declared_text,
    list_pandas_categories,
    to_column,
)
from askless.app.uploads.places import (
    TableFile,
    is_large_csv,
    is_parquet_at,
    list_table_files,
    stat_file,
    unreadable_file_error,
)
from askless.app.uploads.unpacking import Source
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

    A column is float64 if every cell is a plain number or a gap, so that nothing is
    lost, else an array of str and None. Columns are not kept. `text` names those whose
    cells stay as written. `n_rows` and the row groups, `spans`, come from the footers.
    Each read raises RefusedError if a file has changed since the table was opened.
    """

    def __init__(
        self,
        files: Sequence[TableFile],
        text: Collection[str],
        bounds: Bounds,
        *,
        is_coded: bool = True,
        schema: Any = None,
    ) -> None:
        # Whether texts stay in dictionaries. Texts from CSV never were in one, and
        # missing cells are treated differently there.
        self._is_coded = is_coded
        self.files: list[TableFile] = []
        self._text = frozenset(text)
        self.spans: list[RowGroup] = []
        self.n_rows = 0
        self._footers: dict[str, Any] = {}
        for listed in files:
            file = stat_file(listed.system, listed.path)
            with file.open() as opened:
                footer, file_schema = opened.metadata, opened.schema_arrow
            self.files.append(file)
            self._footers[file.path] = footer
            refuse_too_many(footer.num_columns, bounds.columns, "columns")
            # The first file decides the columns that all others must have.
            schema = schema or file_schema
            refuse_schema(file, file_schema, self.files[0], schema)
            for number in range(footer.num_row_groups):
                stop = self.n_rows + footer.row_group(number).num_rows
                self.spans.append(RowGroup(file, number, self.n_rows, stop))
                self.n_rows = stop
            refuse_too_many(self.n_rows, bounds.rows, "rows")
        assert schema is not None, "a table has a file, or its schema is known"
        self._fields = dict(zip(tidy_names(schema.names), schema, strict=True))
        self._categories = list_pandas_categories(schema)
        self._is_number: dict[str, bool] = {}
        # The file that was read last, and its path: to open one takes as long as to
        # read it, where there are many columns.
        self._opened: tuple[str, Any] = ("", None)
        # A table that must live as long as this one.
        self._original: StreamedTable | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_opened": ("", None), "_original": None}

    def with_text(self, text: Collection[str]) -> "StreamedTable":
        """Return the same table with other columns whose cells stay as written."""
        table = copy(self)
        table._text, table._is_number = frozenset(text), {}
        table._original = self
        return table

    @property
    def declared_texts(self) -> frozenset[str]:
        """The columns of texts or categories by their type; a CSV has no types."""
        fields = self._fields.items()
        return frozenset(
            name
            for name, field in fields
            if is_declared_text(field) or field.name in self._categories
        )

    @property
    def separator(self) -> str | None:
        """What parts the cells of a CSV; None where the table is none."""
        fields = (field.metadata or {} for field in self._fields.values())
        named = {metadata.get(WRITTEN, b"").decode() for metadata in fields}
        return next(iter(named)) or None if len(named) == 1 else None

    @property
    def ranges(self) -> list[range]:
        """The rows of each row group."""
        return [range(group.start, group.stop) for group in self.spans]

    def __len__(self) -> int:
        return len(self._fields)

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    # A mapping's own method would read the column.
    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __getitem__(self, name: str) -> Column:
        column = self.read_rows(0, self.n_rows, [name])[name]
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
                columns[name] = to_column(
                    self._slice_cells(start, stop, name),
                    stop - start,
                    is_number=self._is_number[name],
                )
            except pa.ArrowException:
                kind = str(self._fields[name].type)
                refusals.append(Refusal(f"column {name}", TYPE_RULE, kind))
        if refusals:
            raise RefusedError(refusals)
        return columns

    def read_cells(self, start: int, stop: int, name: str) -> Any:
        """Return some rows of a column as an arrow column, not converted."""
        parts = list(self._slice_cells(start, stop, name))
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
                    keep_text=name in self._text
                    or is_declared_text(self._fields[name]),
                )

    def _slice_cells(self, start: int, stop: int, name: str) -> Iterator[Any]:
        """Yield some rows of a column, chunk by chunk."""
        # `slice` cuts a length that goes beyond the end of a row group.
        for first, cells in self._read_cells(name, start, stop):
            yield cells.slice(max(0, start - first), stop - max(start, first))

    def _read_cells(
        self, name: str, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Yield cells and first row of each row group that has some of the rows."""
        field, last = self._fields[name], self.n_rows if stop is None else stop
        groups = [
            span for span in self.spans if span.start < last and start < span.stop
        ]
        for _, spans in groupby(groups, lambda span: span.file.path):
            file_groups = list(spans)
            file = file_groups[0].file
            read = read_groups(self._open(file), file_groups, field.name)
            yield from (
                (first, cells)
                for first, cells in read
                if first < last and start < first + len(cells)
            )
            file.refuse_changed()

    def _open(self, file: TableFile) -> Any:
        """Open a file, unless it is the one that was read last."""
        path, opened = self._opened
        if path == file.path:
            file.refuse_changed()
            return opened
        fields = self._fields.values() if self._is_coded else ()
        texts = [field.name for field in fields if is_texts(field.type)]
        opened = file.open(self._footers[file.path], texts)
        self._opened = file.path, opened
        return opened


class HeldTable(StreamedTable):
    """A table in memory, as `askless.app.uploads.read_table` returns it.

    A small one is not copied into Parquet: to write it and to read it from there takes
    about 0.6 ms of processor time for each column, 17 ms for 31 columns.
    """

    def __init__(self, cells: Any, text: Collection[str] = ()) -> None:
        super().__init__((), text, UNBOUNDED, schema=cells.schema)
        self.n_rows = cells.num_rows
        self._cells = cells

    @property
    def ranges(self) -> list[range]:
        return [range(self.n_rows)]

    def _read_cells(
        self, name: str, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        first, last = 0, self.n_rows if stop is None else stop
        for cells in self._cells.column(name).chunks:
            if first < last and start < first + len(cells):
                yield first, cells
            first += len(cells)


def read_columns(
    source: Source, text: Collection[str] = (), bounds: Bounds = UNBOUNDED
) -> dict[str, Column]:
    """Read all columns of a table; see `StreamedTable`."""
    table = open_table(source, text, bounds)
    return table.read_rows(0, table.n_rows, table)


def open_table(
    source: Source | str,
    text: Collection[str] = (),
    bounds: Bounds = UNBOUNDED,
    skipped: list[Refusal] | None = None,
) -> StreamedTable:
    """Open a table in Parquet files (`list_table_files`), in a CSV or in an upload.

    `text` is as in `StreamedTable`, `bounds` and `skipped` as in
    `askless.app.uploads.read_table`. Of Parquet files only footers are read. Others are
    read whole; a large CSV is first copied into a Parquet file, which is removed with
    the table.
    """
    if isinstance(source, str) or (isinstance(source, Path) and is_parquet_at(source)):
        return StreamedTable(list_table_files(source), text, bounds)
    if isinstance(source, Path) and is_large_csv(source):
        # Loaded where it is needed: few tables are so large.
        from askless.app.uploads.scratch import write_scratch

        file, release = write_scratch(source, bounds, skipped=skipped)
        table = StreamedTable([file], text, bounds, is_coded=False)
        finalize(table, release)
        return table
    return HeldTable(read_table(source, bounds, skipped), text)


def read_groups(
    opened: Any, groups: Sequence[RowGroup], name: str
) -> Iterator[tuple[int, Any]]:
    """Yield the cells of a column by row group, each with its first row.

    A large row group is yielded in batches. Raises RefusedError if the file can't be
    read, or has changed.
    """
    first = groups[0].start
    # Memory for a whole batch is reserved at once.
    n_rows = min(ROWS, max(1, sum(group.stop - group.start for group in groups)))
    try:
        for batch in opened.iter_batches(
            n_rows,
            [entry.number for entry in groups],
            columns=[name],
            use_threads=False,
        ):
            yield first, batch.column(0)
            first += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        # A file that changed while it was read is refused for that reason.
        groups[0].file.refuse_changed()
        raise unreadable_file_error(groups[0].file.name, error) from None


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
            where, f"column {field.name} must be {other.type}, as in {first.name}", kind
        )
        for field, other in zip(schema, expected, strict=True)
        if (kind := str(field.type)) != str(other.type)
    ]
    if refusals:
        raise RefusedError(refusals)


def is_texts(kind: Any) -> bool:
    """Return whether a type is text, which can stay in a dictionary."""
    if pa.types.is_dictionary(kind):
        return is_texts(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
