"""The queue for workers: claim a job, keep it alive, release it or end it.

Only the current attempt at a job can write; an older one gets `SupersededError`.
"""

from datetime import datetime
from typing import Any

from askless.app.errors import SupersededError
from askless.app.problems import problem_document
from askless.app.records import StoredJob
from askless.app.store import jobs
from askless.app.store.database.transactions import Transaction
from askless.core.errors import RefusedError

record_heartbeat, is_overdue = jobs.record_heartbeat, jobs.is_overdue
is_cancelling = jobs.is_cancelling
# Whether there is anything to claim or to sweep: these need no write transaction.
is_any_queued, silent_tenants = jobs.is_any_queued, jobs.list_silent_tenants
LOST = "lost"
# The least share done at which an end is estimated.
LEAST_SHARE = 0.02
Problem = dict[str, Any]


def claim(db: Transaction, holder: str, now: datetime) -> StoredJob | None:
    """Claim the oldest queued job and begin its next attempt; None if there is none."""
    claimed = jobs.claim(db, holder)
    if claimed is not None:
        share, attempt = claimed.share, claimed.attempt
        jobs.add_event(db, claimed.id, "running", now, share, attempt=attempt)
    return claimed


def estimate_progress(
    db: Transaction, job: StoredJob, now: datetime
) -> dict[str, object]:
    """Return `place` of a queued job and `expected_end` of a running one.

    The end assumes that the rest takes as long per share as the part done.
    """
    place = end = None
    if job.state == "queued":
        place = 1 + jobs.count_ahead(db, job)
    began, share = job.started_at, job.share
    if job.state == "running" and began is not None and share >= LEAST_SHARE:
        end = now + (now - began) * ((1.0 - share) / share)
    return {"place": place, "expected_end": end}


def advance(
    db: Transaction, claimed: StoredJob, share: float, now: datetime, **more: object
) -> bool:
    """Store the share done; return False if the job was cancelled.

    `more` are further fields of its event. Raises SupersededError if another attempt
    has the job.
    """
    if lock_claimed(db, claimed, now) is None:
        return False
    jobs.record_heartbeat(db, claimed)
    jobs.change(db, claimed.id, share=share)
    fields = {"state": "running", "attempt": claimed.attempt} | more
    jobs.add_event(db, claimed.id, "progress", now, share, **fields)
    return True


def succeed(
    db: Transaction,
    job: StoredJob,
    now: datetime,
    model_id: str | None,
    **result: object,
) -> None:
    """End a locked job as succeeded, with its model and result."""
    fields = {"share": 1.0, "model_id": model_id, "error": None} | result
    jobs.end_job(db, job, "succeeded", now, **fields)


def fail(db: Transaction, claimed: StoredJob, problem: Problem, now: datetime) -> None:
    """End a job as failed, with the problem that explains it."""
    job = lock_claimed(db, claimed, now)
    if job is not None:
        jobs.end_job(db, job, "failed", now, error=problem)


def release(db: Transaction, claimed: StoredJob, now: datetime) -> None:
    """Put a job back into the queue for another worker."""
    job = lock_claimed(db, claimed, now)
    if job is not None:
        jobs.requeue(db, job, "queued", now)


def requeue_lost(
    db: Transaction, claimed: StoredJob, max_attempts: int, now: datetime
) -> None:
    """Requeue a job whose process has died; fail it after `max_attempts`."""
    job = lock_claimed(db, claimed, now)
    if job is not None:
        requeue_or_end(db, job, max_attempts, now)


def lock_claimed(
    db: Transaction, claimed: StoredJob, now: datetime, *, is_ended_too: bool = False
) -> StoredJob | None:
    """Lock and return a job, which must still be at the attempt claimed.

    If it was being cancelled, end it as cancelled and return None. Raises
    SupersededError at another attempt. `is_ended_too` allows a succeeded job.
    """
    job = jobs.get_locked(db, claimed.id)
    states = ("running", "cancelling", *(["succeeded"] if is_ended_too else []))
    if job.attempt != claimed.attempt or job.state not in states:
        raise SupersededError(claimed.id)
    if job.state == "cancelling":
        jobs.end_job(db, job, "cancelled", now)
        return None
    return job


def requeue_silent(
    db: Transaction, timeout_s: float, max_attempts: int, now: datetime
) -> list[tuple[str, str]]:
    """Take a tenant's jobs from silent workers; return their ids and new states."""
    silent = jobs.lock_silent(db, timeout_s)
    return [(job.id, requeue_or_end(db, job, max_attempts, now)) for job in silent]


def requeue_or_end(
    db: Transaction, job: StoredJob, max_attempts: int, now: datetime
) -> str:
    """Requeue a locked job of a lost worker, or end it; return its new state."""
    if job.state == "cancelling":
        jobs.end_job(db, job, "cancelled", now)
        return "cancelled"
    # The present loss, which has no event yet, counts too.
    if jobs.count_events(db, job.id, LOST) + 1 >= max_attempts:
        detail = f"It was given up after it had lost {max_attempts} workers."
        problem = problem_document("worker-lost", detail)
        jobs.end_job(db, job, "failed", now, error=problem)
        return "failed"
    jobs.requeue(db, job, LOST, now)
    return "queued"


def refused_problem(error: RefusedError) -> Problem:
    """Return the problem that lists refused fields, never their values."""
    errors = [
        {"field": refusal.field, "rule": refusal.told} for refusal in error.refusals
    ]
    detail = "The dataset and the order don't fit each other."
    return problem_document("invalid-request", detail, errors=errors)


def dataset_lost_problem() -> Problem:
    detail = "The file of its dataset is gone."
    return problem_document("training-failed", detail)


def internal_problem() -> Problem:
    detail = "The reason is in the worker's log, under its id."
    return problem_document("internal", detail)


def out_of_memory_problem(most: int | None) -> Problem:
    limit = "the memory of the machine" if most is None else f"the {most} bytes allowed"
    detail = f"It needed more than {limit}. Take fewer rows or columns."
    return problem_document("out-of-memory", detail)


def cluster_lost_problem(error: Exception) -> Problem:
    return problem_document("cluster-lost", str(error))


def time_limit_problem(most_s: float) -> Problem:
    detail = f"It was stopped after the {most_s:g} s that it may take."
    return problem_document("time-limit", detail)
