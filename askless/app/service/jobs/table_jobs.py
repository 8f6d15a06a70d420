"""Start, show, cancel and delete jobs on whole tables.

`table_runs` computes them. They buy nothing, since the table has all values, and the
ledger has no entries of them.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from askless.app.batch.checking import (
    CheckedOrder,
    check_order_and_table,
    check_order_names,
)
from askless.app.batch.kinds import TABLE_KINDS as TABLE_KINDS
from askless.app.documents.http import jobs as bodies
from askless.app.errors import ConflictError, NotFoundError
from askless.app.processes.child import set_preloaded
from askless.app.processes.limited import IsWanted, is_always_wanted, run_limited
from askless.app.records import FINAL_STATES, JobKind, ModelHead, StoredJob
from askless.app.service import limits
from askless.app.service.jobs.nouns import JobNoun
from askless.app.service.jobs.table_runs import blob_name
from askless.app.service.loaded import LoadedModels
from askless.app.store import datasets, jobs, models
from askless.app.store.database.transactions import Transaction
from askless.app.uploads.parsing import (
    ReferredTable,
    TableFacts,
    TableReader,
    TableSource,
)
from askless.core.errors import Refusal, RefusedError
from askless.core.model.model import Model

TURN = (
    "Another job is learning with a version of this name. Send the rows again once it "
    "has ended, or send them together."
)
CHANGED = (
    "The name got a newer version while the rows were checked. Send them again, to go "
    "on from that one."
)
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
    """Preload the modules that check tables, so that child processes share them."""
    set_preloaded(TableReader.__module__, check_order_and_table.__module__)


def find_head(db: Transaction, key: str) -> ModelHead:
    """Return the model that rows are learnt on top of.

    An id or `name@version` is that very model; a bare name is its newest version,
    whichever is the champion. Raises NotFoundError.
    """
    return models.get_newest_head(db, key)


def find_model(
    db: Transaction, loaded: LoadedModels, key: str, kind: str
) -> tuple[str, Model]:
    """Load the model that a job of a kind applies; also return its id.

    The caller's transaction ends if the model has to be parsed. Raises NotFoundError
    if there is none, or not any more; see `find_head` for one that is to learn.
    """
    makes_version = TABLE_KINDS[kind].makes_version
    head = (find_head if makes_version else models.get_head)(db, key)
    loaded.load(db, head.id)
    return head.id, loaded.get(db, head.id)


def check_job(
    reader: TableReader,
    order: JobOrder,
    model: Model,
    stream: TableSource,
    is_wanted: IsWanted = is_always_wanted,
) -> tuple[JobOrder, TableFacts]:
    """Check an order and a table for a model.

    The cells of a table that stays where it is are checked by the worker. Raises
    RefusedError with every broken rule.
    """
    arguments = order.kind, model, order.raw
    if isinstance(stream, ReferredTable):
        check_order_names(stream.facts, *arguments)
        return order, stream.facts
    checked: CheckedOrder = run_limited(
        reader.limits,
        stream,
        check_order_and_table,
        reader.bounds,
        *arguments,
        is_wanted=is_wanted,
    )
    return replace(order, warnings=checked.warnings), checked.facts


def start(
    db: Transaction,
    order: JobOrder,
    dataset_id: str,
    now: datetime,
    key: str | None = None,
) -> StoredJob:
    """Store a job and put it into the queue.

    `key` is what the caller called the model, by default its id. For jobs that make a
    version see `lock_model_name`.
    """
    name: str = order.kind
    if TABLE_KINDS[order.kind].makes_version:
        name, order = lock_model_name(db, order, key or order.model_id)
    limits.check_training(db)
    datasets.get_locked(db, dataset_id)
    # Until the commit nobody can delete the model.
    if not models.lock(db, order.model_id, is_shared=True):
        raise NotFoundError("model")
    job = StoredJob(
        id=JOBS.make_id(),
        name=name,
        dataset_id=dataset_id,
        spec=order.raw,
        warnings=order.warnings,
        created_at=now,
        kind=order.kind,
        asked_model=order.model_id,
    )
    jobs.enqueue(db, job, now)
    return job


def lock_model_name(db: Transaction, order: JobOrder, key: str) -> tuple[str, JobOrder]:
    """Return the model's name, and the order with what its result depends on.

    Of one name one job learns at a time, so that the next goes on from its version.
    Where `key` is a bare name, the job fails if its newest version is another one by
    the end. Raises ConflictError while another job learns with the same name, and where
    the bare name `key` has a newer version than the order was checked for.
    """
    name = models.get_head(db, order.model_id).name
    models.lock_name(db, name)
    if jobs.is_learning(db, name):
        raise ConflictError("conflict", TURN)
    if find_head(db, key).id != order.model_id:
        raise ConflictError("conflict", CHANGED)
    if models.find_by_key(db, key) is None:
        order = replace(order, raw={**order.raw, "newest": True})
    return name, order


def delete(db: Transaction, job_id: str) -> list[str]:
    """Delete a job that has ended; return its blobs, to be removed later."""
    job = JOBS.get_locked(db, job_id)
    if job.state not in FINAL_STATES:
        detail = "The job has not ended. Cancel it first."
        raise ConflictError("conflict", detail)
    jobs.delete(db, job)
    return [blob_name(job_id, form) for form in (job.result or {}).get("formats", [])]


def find_result(db: Transaction, job_id: str, form: str | None) -> tuple[str, str]:
    """Return the blob and the format of a result; by default the first format.

    `form` is the requested format, or None. Raises ConflictError if the job has no
    result, RefusedError if it has none in that format.
    """
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
    """Return the given blob names that are results of jobs of any tenant."""
    # A blob's name is the job's id, a point, and the format.
    ids = {name.partition(".")[0] for name in names}
    finished = jobs.select_finished_jobs(db, ids)
    return {name for name in names if name.partition(".")[0] in finished}
