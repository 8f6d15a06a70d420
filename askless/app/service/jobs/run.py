"""The inputs, steps and runs of a job, the same for all kinds."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from askless.app.errors import NotFoundError
from askless.app.records import StoredJob
from askless.app.service.sources import CellSource, find_cells
from askless.app.settings.places import ClusterPlace
from askless.app.store import models
from askless.app.store.blobs import Blobs
from askless.app.store.database.transactions import Transaction
from askless.app.uploads.parsing import TableReader, open_bounded
from askless.app.uploads.places import is_parquet, stat_file, to_arrow
from askless.app.uploads.references import (
    TableReference,
    open_reference,
    without_row_limits,
)
from askless.app.uploads.streams import StreamedTable
from askless.core.errors import Refusal, RefusedError

MODEL_GONE = "must be there still: it was deleted"


class JobSource(NamedTuple):
    """The place of the cells of a job's table, and the document of its model.

    A training has no model yet.
    """

    cells: CellSource
    model: str | None


@dataclass(frozen=True)
class Workshop:
    """The tools and the cluster that jobs are computed with.

    `place` is a cluster that trains on tables in place; if it is None, this process
    does. A cluster cuts a table into one shard for each of its workers.
    """

    reader: TableReader
    blobs: Blobs
    place: ClusterPlace | None


class JobStep(Protocol):
    """The results computed since the previous step."""

    @property
    def is_last(self) -> bool: ...

    def store(self, db: Transaction, claimed: StoredJob, now: datetime) -> bool:
        """Write the step; the last one ends the job. Return False if cancelled."""


class JobRun(Protocol):
    """A job that this process computes."""

    def pull(self, step_s: float) -> JobStep:
        """Compute for `step_s` seconds, then return the step to store."""


def find_source(db: Transaction, job: StoredJob) -> JobSource:
    """Return a job's table and model; BlobGoneError or RefusedError if one is gone."""
    cells = find_cells(db, job.dataset_id)
    if job.asked_model is None:
        return JobSource(cells, None)
    try:
        return JobSource(cells, models.get(db, job.asked_model).document)
    except NotFoundError:
        raise RefusedError([Refusal("model", MODEL_GONE)]) from None


def open_cells(
    workshop: Workshop, cells: CellSource, text: frozenset[str]
) -> StreamedTable:
    """Open a job's table; cells of the columns `text` are read as they are written.

    Raises BlobGoneError if an upload is gone, RefusedError if a table can't be used.
    """
    reader, blobs = workshop.reader, workshop.blobs
    if isinstance(cells, TableReference):
        most = without_row_limits(reader.bounds)
        return open_reference(cells, reader.places, text, most)
    with blobs.open(cells) as stream:
        if not is_parquet(stream):
            return open_bounded(stream, reader.bounds).with_text(text)
    file = stat_file(to_arrow(blobs.system), f"{blobs.root}/{cells}")
    return StreamedTable([file], text, reader.bounds)
