"""Read Python tables (data frames, arrays, mappings of lists) as columns.

A column is read exactly as the service reads the same one from a file.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from askless.core.arrays import BoolArray, FloatArray
from askless.core.errors import Refusal, RefusedError, shorten
from askless.core.table.cells import write_cell
from askless.core.table.columns import Column, Columns
from askless.core.table.texts.numbers import MOST_EXACT

NUMBERS = (int, float, Decimal, np.integer, np.floating)
CONTAINERS = (list, tuple, dict, set, frozenset, np.ndarray)


# Columns of an array that are copied at a time: so many numbers of a row share a line
# of the processor's cache.
BLOCK = 8


class NumberColumns(Mapping[str, FloatArray]):
    """The columns of an array of numbers, (n_samples, n_features), by position.

    Each lies in one piece, so that it is read fast, several times. Some are copied at a
    time, for whoever reads them in their order.
    """

    def __init__(self, values: FloatArray) -> None:
        # Kernels are compiled anew for arrays that are read-only or not C-contiguous.
        self.array = np.require(values, np.float64, ("C", "W"))
        self._idxs = {str(idx): idx for idx in range(values.shape[1])}
        self._copied: dict[int, FloatArray] = {}

    def __getitem__(self, name: str) -> FloatArray:
        """Return a column; the same object until another is read that is not near."""
        idx = self._idxs[name]
        if idx not in self._copied:
            first = idx - idx % BLOCK
            block = np.ascontiguousarray(self.array[:, first : first + BLOCK].T)
            self._copied = dict(enumerate(block, first))
        return self._copied[idx]

    def __iter__(self) -> Iterator[str]:
        """Return the names in the order of the columns."""
        return iter(self._idxs)

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self._idxs)


def stack_columns(columns: Columns, changed: Mapping[str, FloatArray]) -> FloatArray:
    """Return columns, those in `changed` as they are there; (n_samples, n_features).

    Without any change this may be the array itself that `columns` was made of.
    """
    if not isinstance(columns, NumberColumns):
        return np.column_stack([changed.get(name, columns[name]) for name in columns])
    values = columns.array.copy() if changed else columns.array
    for idx, name in enumerate(columns):
        if name in changed:
            values[:, idx] = changed[name]
    return values


class CellTypeError(RefusedError, TypeError):
    """A cell that is neither a text nor a number; scikit-learn wants a TypeError."""


def is_frame(table: object) -> bool:
    """Return whether a table is a data frame; raise `RefusedError` for a lazy one."""
    wrapped = nw.from_native(table, pass_through=True)
    if isinstance(wrapped, nw.LazyFrame):
        rule = "must hold its rows: call collect() first"
        raise RefusedError([Refusal("X", rule, type(table).__name__)])
    return isinstance(wrapped, nw.DataFrame)


def frame_columns(frame: Any) -> dict[str, Column]:
    """Return the columns of a data frame (pandas, polars, pyarrow and others)."""
    try:
        wrapped = nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError:
        rule = "must have one column of each name"
        raise RefusedError([Refusal("X", rule)]) from None
    return {
        str(column.name): series_column(column) for column in wrapped.iter_columns()
    }


def declared_texts(frame: Any) -> frozenset[str]:
    """Return the columns of a table that are texts or categories by their type.

    Of an array there are none: it has one type for all its columns.
    """
    if not is_frame(frame):
        return frozenset()
    wrapped = nw.from_native(frame, eager_only=True)
    return frozenset(str(s.name) for s in wrapped.iter_columns() if is_text(s))


def is_text(series: Any) -> bool:
    """Return whether a column is of texts, or of names for categories."""
    if isinstance(series.dtype, nw.Categorical | nw.Enum | nw.String):
        return True
    # Older pandas has no other type for texts.
    cells = series.drop_nulls().to_list() if series.dtype == nw.Object else []
    return bool(cells) and all(isinstance(cell, str) for cell in cells)


def series_column(series: Any) -> Column:
    """Return a column of a data frame as numbers or texts."""
    name = str(series.name)
    cells, is_null = series.to_list, series.is_null().to_numpy
    if isinstance(series.dtype, nw.Categorical | nw.Enum):
        # Names may be numbers, in pandas; they are names all the same.
        return text_column(name, drop_missing(cells(), is_null()))
    if not series.dtype.is_numeric():
        return cell_column(name, cells(), is_null())
    if series.dtype.is_integer() or series.dtype.is_decimal():
        return cell_column(name, cells(), is_null())
    return np.array(series.cast(nw.Float64).to_numpy(), np.float64)


def array_columns(table: Any) -> dict[str, Column] | None:
    """Return the columns of an array with texts, by position; None for other arrays.

    Whole numbers that float64 can't tell apart are texts.
    """
    cells = table if isinstance(table, np.ndarray) else to_cells(table)
    if cells is None or cells.ndim != 2:
        return None
    is_whole = cells.dtype.kind in "iu" and cells.size > 0
    is_vast = is_whole and max(cells.max(), -int(cells.min())) > MOST_EXACT
    if cells.dtype.kind not in "OUST" and not is_vast:
        return None
    return {str(idx): cell_column(str(idx), row) for idx, row in enumerate(cells.T)}


def to_cells(table: Any) -> Any:
    """Return rows that are lists, some with texts, as an array of cells; else None."""
    rows = table if isinstance(table, Sequence) else []
    if not any(isinstance(value, str) for row in rows for value in as_row(row)):
        return None
    cells = np.array(rows, dtype=object)
    return cells if cells.ndim == 2 else None


def as_row(row: object) -> Iterable[Any]:
    """Return the cells of a row that is a list; of any other object none."""
    return row if isinstance(row, list | tuple) else ()


def mapped_columns(table: Mapping[str, Any], names: Iterable[str]) -> dict[str, Column]:
    """Return the columns `names` of a mapping of lists; raise RefusedError."""
    columns = {name: list_column(name, table[name]) for name in names if name in table}
    sizes = {name: column.size for name, column in columns.items()}
    first, n_rows = next(iter(sizes.items()), ("", 0))
    refusals = [
        Refusal(f"column {name}", f"must have {n_rows} rows, as {first} has", str(size))
        for name, size in sizes.items()
        if size != n_rows
    ]
    if refusals:
        raise RefusedError(refusals)
    return columns


def list_column(name: str, values: Any) -> Column:
    """Return a list of values as numbers or texts; refuse what is no list of them."""
    try:
        column = np.asarray(values)
        is_list = column.ndim == 1
    except ValueError:
        # It holds lists of different lengths.
        is_list = False
    if not is_list:
        rule = "must be a list of values, one for each row"
        raise RefusedError([Refusal(f"column {name}", rule, shorten(values))])
    if column.dtype.kind == "f":
        return column.astype(np.float64)
    return cell_column(
        name, column.tolist() if column.dtype.kind in "iu" else list(values)
    )


def cell_column(
    name: str, cells: Sequence[Any], is_null: BoolArray | None = None
) -> Column:
    """Return cells of any kind as numbers where all are numbers, else as texts.

    Whole numbers that float64 can't tell apart are texts, too. None, NaN and what the
    frame calls null (`is_null`) are missing. Raises CellTypeError for a cell that is a
    container.
    """
    kept = drop_missing(cells, is_null)
    if all(cell is None or is_number(cell) for cell in kept):
        return np.array([np.nan if cell is None else float(cell) for cell in kept])
    return text_column(name, kept)


def drop_missing(cells: Sequence[Any], is_null: BoolArray | None = None) -> list[Any]:
    """Return cells with None for those that are missing."""
    kept = [
        None if cell is None or (isinstance(cell, float) and cell != cell) else cell
        for cell in cells
    ]
    if is_null is not None:
        for null_row in np.flatnonzero(is_null).tolist():
            kept[null_row] = None
    return kept


def text_column(name: str, cells: Sequence[Any]) -> Column:
    """Return cells as texts; raise CellTypeError for a container."""
    texts = np.empty(len(cells), dtype=np.object_)
    for row, cell in enumerate(cells):
        if isinstance(cell, CONTAINERS):
            rule = "argument must be a string or a number"
            container = f"{shorten(cell)} in row {row + 1}"
            raise CellTypeError([Refusal(f"column {name}", rule, container)])
        texts[row] = write_cell(cell)
    return texts


def is_number(cell: object) -> bool:
    """Return whether a cell is a number that float64 holds; true and false are not."""
    if isinstance(cell, bool) or not isinstance(cell, NUMBERS):
        return False
    return isinstance(cell, float | np.floating) or abs(int(cell)) <= MOST_EXACT
