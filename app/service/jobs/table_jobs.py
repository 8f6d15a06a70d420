"""Jobs on whole tables as their users see them: ordered, shown, cancelled, deleted.

`table_runs` has what a worker does with them. They buy nothing, since the table has all
values: the ledger has no entries of theirs.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from app.batch.checking import CheckedOrder, check_file, check_named
from app.documents.http import jobs as bodies
from app.errors import ConflictError, NotFoundError
from app.processes.child import preload
from app.processes.limited import IsWanted, is_always_wanted, run_limited
from app.records import FINAL_STATES, JobKind, StoredJob
from app.service import limits
from app.service.jobs.nouns import JobNoun
from app.service.jobs.table_runs import blob_name
from app.service.loaded import LoadedModels
from app.store import datasets, jobs, models
from app.store.database.transactions import Transaction
from app.uploads.parsing import ReferredTable, TableFacts, TableReader, TableSource
from core.errors import Refusal, RefusedError
from core.model.model import Model

JOBS = jobs.JOBS
NOUN = JobNoun(JOBS, bodies.ShownJob, "conflict")
get, page, show, cancel = NOUN.get, NOUN.page, NOUN.show, NOUN.cancel


@dataclass(frozen=True)
class JobOrder:
    """A request to apply a model to a table."""

    kind: JobKind
    model_id: str
    raw: dict[str, Any]
    warnings: tuple[str, ...] = ()


def preload_checks() -> None:
    """Have what checks tables imported once, before the first child that does."""
    preload(TableReader.__module__, check_file.__module__)


def find_model(db: Transaction, loaded: LoadedModels, model_id: str) -> Model:
    """Return a model that is not deleted."""
    head = models.get_head(db, model_id)
    loaded.load(db, head.id)
    return loaded.get(db, head.id)


def check(
    reader: TableReader,
    order: JobOrder,
    model: Model,
    stream: TableSource,
    is_wanted: IsWanted = is_always_wanted,
) -> tuple[JobOrder, TableFacts]:
    """Check an order and a table for a model.

    Of a table that stays where it is the worker reads the cells.
    """
    arguments = order.kind, model, order.raw
    if isinstance(stream, ReferredTable):
        check_named(stream.facts, *arguments)
        return order, stream.facts
    checked: CheckedOrder = run_limited(
        reader.limits,
        stream,
        check_file,
        reader.bounds,
        *arguments,
        is_wanted=is_wanted,
    )
    return replace(order, warnings=checked.warnings), checked.facts


def start(
    db: Transaction, order: JobOrder, dataset_id: str, now: datetime
) -> StoredJob:
    """Store a job, which a worker then takes."""
    limits.check_training(db)
    datasets.get_locked(db, dataset_id)
    if not models.lock(db, order.model_id, is_shared=True):
        raise NotFoundError("model")
    made = StoredJob(
        id=JOBS.make_id(),
        name=order.kind,
        dataset_id=dataset_id,
        spec=order.raw,
        warnings=order.warnings,
        created_at=now,
        kind=order.kind,
        asked_model=order.model_id,
    )
    jobs.enqueue(db, made, now)
    return made


def delete(db: Transaction, job_id: str) -> list[str]:
    """Delete a job that has ended; return its blobs, for the caller to remove.

    They are removed once this is committed.
    """
    job = JOBS.get_locked(db, job_id)
    if job.state not in FINAL_STATES:
        detail = "The job has not ended. Cancel it first."
        raise ConflictError("conflict", detail)
    jobs.delete(db, job)
    return [blob_name(job_id, one) for one in (job.result or {}).get("formats", [])]


def find_result(db: Transaction, job_id: str, form: str | None) -> tuple[str, str]:
    """Return the blob of a result and its format, the usual one where none is named."""
    job = get(db, job_id)
    if job.result is None:
        detail = f"The job has no result: it is {job.state}."
        raise ConflictError("conflict", detail)
    formats: list[str] = job.result["formats"]
    if form is not None and form not in formats:
        raise RefusedError([Refusal("format", f"must be one of {', '.join(formats)}")])
    chosen = form or formats[0]
    return blob_name(job_id, chosen), chosen


def named_blobs(db: Transaction, names: list[str]) -> set[str]:
    """Return those of some blobs that are results of jobs, of whatever tenant."""
    ids = {name.partition(".")[0] for name in names}
    finished = jobs.finished_jobs(db, ids)
    return {name for name in names if name.partition(".")[0] in finished}
