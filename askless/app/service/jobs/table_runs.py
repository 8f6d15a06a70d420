"""Compute jobs that apply a model to a table, from the rows to the result's blobs."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from askless.app.batch.kinds import TABLE_KINDS
from askless.app.batch.outputs import Computing, JobOutput
from askless.app.batch.sources import RowSource
from askless.app.documents.files import model_text
from askless.app.records import StoredJob
from askless.app.service.jobs import queue
from askless.app.service.jobs.run import JobSource, Workshop, open_cells
from askless.app.service.loaded import parse_model
from askless.app.store import models
from askless.app.store.blobs import Blobs
from askless.app.store.database.transactions import Transaction
from askless.core.errors import Refusal, RefusedError

NEWER = (
    "must still be the newest of its name: version {} came while the rows were learnt; "
    "send them again, to go on from that one"
)


@dataclass(frozen=True)
class TableStep:
    """The share done; the last step also has the result's rows and formats.

    `document` is the MODEL.json of the next version, where the job makes one.
    """

    share: float
    result: dict[str, Any] | None = None
    document: str | None = None

    @property
    def is_last(self) -> bool:
        return self.result is not None

    def store(self, db: Transaction, claimed: StoredJob, now: datetime) -> bool:
        """Write the progress or the result; return False if the job is cancelled.

        Raises RefusedError if a newer version hides the model that a job learnt from.
        """
        if self.result is None:
            return queue.advance(db, claimed, self.share, now)
        # A job that has succeeded is accepted, so that saving a result twice changes
        # nothing.
        job = queue.lock_claimed(db, claimed, now, is_ended_too=True)
        if job is not None and job.state == "running":
            result, model_id = self.result, job.asked_model
            if self.document is not None:
                model_id = save_model_of(db, job, self.document, now)
                result = result | {"model_id": model_id}
            queue.succeed(db, job, now, model_id, result=result)
        return job is not None


def save_model_of(db: Transaction, job: StoredJob, document: str, now: datetime) -> str:
    """Store the model of a job; return its id.

    It is the next version of the model that the job goes on from, or of its own name.
    """
    if job.asked_model is None:
        return models.insert(db, job.name, document, now).id
    refuse_newer(db, job, job.asked_model)
    return models.insert_learnt(db, job.asked_model, document, now).id


def refuse_newer(db: Transaction, job: StoredJob, model_id: str) -> None:
    """Refuse to save what was learnt from a version that had to stay the newest.

    The next version of the name would hide the one that came meanwhile.
    """
    if not job.spec.get("newest"):
        return
    models.lock_name(db, job.name)
    newer = models.find_newer(db, model_id)
    if newer is not None:
        raise RefusedError([Refusal("model", NEWER.format(newer.version))])


@dataclass
class TableRun:
    """A job on a table, computed step by step in this process."""

    job: StoredJob
    blobs: Blobs
    computing: Computing
    share: float = 0.0

    def pull(self, step_s: float) -> TableStep:
        """Compute for `step_s` seconds; write the result's blobs in the last step."""
        deadline = time.monotonic() + step_s
        while True:
            try:
                self.share = next(self.computing).share
            except StopIteration as end:
                output: JobOutput = end.value
                document = None if output.model is None else model_text(output.model)
                return TableStep(1.0, self.write_blobs(output), document)
            if time.monotonic() >= deadline:
                return TableStep(self.share)

    def write_blobs(self, output: JobOutput) -> dict[str, Any]:
        """Write each blob atomically; return the result's rows and formats."""
        with ExitStack() as stack:
            for stream in output.contents.values():
                stack.enter_context(stream)
            for name, stream in output.contents.items():
                stream.seek(0)
                self.blobs.write(blob_name(self.job.id, name), stream)
        return {"rows": output.rows, "formats": list(output.contents)}


def blob_name(job_id: str, form: str) -> str:
    return f"{job_id}.{form}"


@contextmanager
def open_table_job(
    workshop: Workshop, source: JobSource, job: StoredJob
) -> Iterator[TableRun]:
    """Open a job's table and model; the job is computed from its first row."""
    assert source.model is not None, "it applies a model"
    kind, model = TABLE_KINDS[job.kind], parse_model(source.model)
    order = kind.read(job.spec, model)
    table = open_cells(workshop, source.cells, kind.text_columns(model, order))
    computing = kind.compute(model, RowSource(table), order)
    yield TableRun(job, workshop.blobs, computing)
