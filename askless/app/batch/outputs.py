"""The output of a job on a whole table: progress, and at the end its result."""

from collections.abc import Generator, Mapping
from typing import IO, NamedTuple

from askless.app.batch.predicting import BatchProgress
from askless.core.model.model import Model

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
