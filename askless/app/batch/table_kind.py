"""Defines `TableKind`: a kind of job that applies a model to a whole table."""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

from askless.app.batch.predicting import BatchProgress
from askless.app.batch.sources import RowSource
from askless.core.model.model import Model
from askless.core.table.columns import Columns

#: The formats of tables; the first is the usual one.
TABLES = ("csv", "parquet")


class JobOutput(NamedTuple):
    """The result of a job, in each of its formats, and its number of rows.

    `model` is the next version of the model that the job was asked about, None if it
    makes none.
    """

    contents: Mapping[str, IO[bytes]]
    rows: int
    model: Model | None = None


Computing = Generator[BatchProgress, None, JobOutput]


@dataclass(frozen=True)
class TableKind:
    """One kind of job. `order` below is what `read` returns."""

    #: (order as it was sent, model) -> order; raises RefusedError
    read: Callable[[Any, Model], Any]
    #: (model, order) -> the columns whose cells are read as text
    text_columns: Callable[[Model, Any], frozenset[str]]
    #: (model, columns without cells, order): raises RefusedError for missing columns
    check_names: Callable[[Model, Columns, Any], None]
    #: (model, rows, order) -> warnings; raises RefusedError
    check_rows: Callable[[Model, RowSource, Any], Iterable[str]]
    #: (model, rows, order) -> progress, and at the end the result
    compute: Callable[[Model, RowSource, Any], Computing]
