"""The queue as workers see it: a job is claimed, kept alive, given back or ended.

An attempt that is not the job's present one can write nothing: either it finds out, or
it is told by `SupersededError`.
"""

from datetime import datetime
from typing import Any

from app.errors import SupersededError
from app.problems import problem_document
from app.records import StoredTraining
from app.store import trainings
from app.store.database.transactions import Transaction
from core.errors import RefusedError

beat, is_overdue = trainings.beat, trainings.is_overdue
is_cancelling = trainings.is_cancelling
# Whether there is anything to claim or to sweep: these need no write transaction.
is_any_queued, silent_tenants = trainings.is_any_queued, trainings.silent_tenants
LOST = "lost"
# Before so much is done nothing is said of the end.
LEAST_SHARE = 0.02
Problem = dict[str, Any]


def claim(db: Transaction, holder: str, now: datetime) -> StoredTraining | None:
    """Begin the next attempt at the oldest training in the queue, if there is one."""
    claimed = trainings.claim(db, holder)
    if claimed is not None:
        share, attempt = claimed.share, claimed.attempt
        trainings.add_event(db, claimed.id, "running", now, share, attempt=attempt)
    return claimed


def stand(
    db: Transaction, training: StoredTraining, now: datetime
) -> dict[str, object]:
    """Return the place of one that waits, and when one that runs may end.

    The rest is thought to take its time at the pace of what is done.
    """
    place = end = None
    if training.state == "queued":
        place = 1 + trainings.count_ahead(db, training)
    began, share = training.started_at, training.share
    if training.state == "running" and began is not None and share >= LEAST_SHARE:
        end = now + (now - began) * ((1.0 - share) / share)
    return {"place": place, "expected_end": end}


def fail(
    db: Transaction, claimed: StoredTraining, problem: Problem, now: datetime
) -> None:
    """End an attempt's training with the reason why there is no model."""
    found = hold(db, claimed, now)
    if found is not None:
        trainings.end(db, found, "failed", now, error=problem)


def release(db: Transaction, claimed: StoredTraining, now: datetime) -> None:
    """Hand a training back, so that another worker goes on with it."""
    found = hold(db, claimed, now)
    if found is not None:
        trainings.requeue(db, found, "queued", now)


def lose(
    db: Transaction, claimed: StoredTraining, max_attempts: int, now: datetime
) -> None:
    """Put a training back whose process has died."""
    found = hold(db, claimed, now)
    if found is not None:
        give_up(db, found, max_attempts, now)


def hold(
    db: Transaction,
    claimed: StoredTraining,
    now: datetime,
    *,
    is_ended_too: bool = False,
) -> StoredTraining | None:
    """Lock a training as it stands now; it must still be at the attempt claimed.

    None where it was to be cancelled, and now is.
    """
    found = trainings.get_locked(db, claimed.id)
    states = ("running", "cancelling", *(["succeeded"] if is_ended_too else []))
    if found.attempt != claimed.attempt or found.state not in states:
        raise SupersededError(claimed.id)
    if found.state == "cancelling":
        trainings.end(db, found, "cancelled", now)
        return None
    return found


def sweep(
    db: Transaction, timeout_s: float, max_attempts: int, now: datetime
) -> list[tuple[str, str]]:
    """Take a tenant's trainings from silent workers; return each with its state."""
    silent = trainings.lock_silent(db, timeout_s)
    return [(one.id, give_up(db, one, max_attempts, now)) for one in silent]


def give_up(
    db: Transaction, training: StoredTraining, max_attempts: int, now: datetime
) -> str:
    """Take a locked training from a lost worker; return its new state."""
    if training.state == "cancelling":
        trainings.end(db, training, "cancelled", now)
        return "cancelled"
    if trainings.count_events(db, training.id, LOST) + 1 >= max_attempts:
        detail = f"It was given up after it had lost {max_attempts} workers."
        problem = problem_document("worker-lost", detail)
        trainings.end(db, training, "failed", now, error=problem)
        return "failed"
    trainings.requeue(db, training, LOST, now)
    return "queued"


def refused(error: RefusedError) -> Problem:
    """Say which data was refused, never the values."""
    errors = [{"field": one.field, "rule": one.told} for one in error.refusals]
    detail = "The dataset and the order don't fit each other."
    return problem_document("invalid-request", detail, errors=errors)


def dataset_lost() -> Problem:
    detail = "The file of its dataset is gone."
    return problem_document("training-failed", detail)


def internal() -> Problem:
    detail = "The reason is in the worker's log, under its id."
    return problem_document("internal", detail)


def out_of_memory(most: int | None) -> Problem:
    said = "the memory of the machine" if most is None else f"the {most} bytes allowed"
    detail = f"It needed more than {said}. Take fewer rows or columns."
    return problem_document("out-of-memory", detail)


def cluster_lost(error: Exception) -> Problem:
    return problem_document("cluster-lost", str(error))


def past_time(most_s: float) -> Problem:
    detail = f"It was stopped after the {most_s:g} s that it may take."
    return problem_document("time-limit", detail)
