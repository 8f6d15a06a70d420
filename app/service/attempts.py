"""Attempts: what workers do with trainings, from claim to result.

An attempt that is not the training's present one can write nothing: either it finds
out, or it is told by `SupersededError`.
"""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from app.documents import model_text
from app.errors import SupersededError
from app.ingest import read_columns
from app.memory import available_bytes
from app.records import StoredTraining
from app.store import datasets, models, queue, trainings
from app.store.blobs import Blobs
from app.store.queue import Queue
from core.errors import RefusedError
from core.model.model import Model
from core.pipeline.train import train
from core.specs import TrainingSpec, read_spec
from core.table.check import Checked, check_table
from core.table.dataset import count_outputs
from core.training.rounds import Round

LOST = "lost"
Problem = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """What an attempt computes on."""

    spec: TrainingSpec
    checked: Checked


@dataclass(frozen=True)
class Result:
    """A model as its document, which is known to be readable."""

    name: str
    document: str


@dataclass(frozen=True)
class Step:
    """Rounds by part since the step before; with the last one comes the result.

    A step inside a selection of features brings no rounds. `part` is where training
    has come to.
    """

    part: int
    rounds: dict[int, list[Round]]
    share: float
    result: Result | None


class Run:
    """A training in this process's memory, computed a step at a time.

    `share` is what earlier attempts came to: it does not fall where a selection that
    was interrupted is made anew.
    """

    def __init__(
        self, work: Work, done: dict[int, list[Round]], share: float = 0.0
    ) -> None:
        spec = work.spec
        self.part = max(done, default=0)
        self.share = share
        self.progress = train(
            work.checked.dataset,
            spec.boost,
            name=spec.name,
            target=spec.target,
            folds=spec.folds,
            seed=spec.seed,
            error_costs=work.checked.error_costs,
            selection=spec.selection,
            auto=spec.auto,
            done=done,
        )

    def pull(self, step_s: float) -> Step:
        """Compute for a while, at least one round or one candidate of a selection."""
        deadline = time.monotonic() + step_s
        added: dict[int, list[Round]] = {}
        while True:
            try:
                progress = next(self.progress)
            except StopIteration as end:
                model: Model = end.value
                result = Result(model.name, model_text(model))
                return Step(self.part, added, 1.0, result)
            if progress.added is not None:
                added.setdefault(progress.part, []).append(progress.added)
            self.part = progress.part
            self.share = max(self.share, progress.share)
            if time.monotonic() >= deadline:
                return Step(self.part, added, self.share, None)


def claim(
    db: Session, training_id: str, attempt: int, executor_id: str, now: datetime
) -> StoredTraining | None:
    """Begin an attempt, unless the training has gone on without it."""
    found = trainings.get_locked(db, training_id)
    if found is None or found.state != "queued" or found.attempt != attempt - 1:
        return None
    trainings.change(
        db,
        training_id,
        at=found.attempt,
        states=["queued"],
        state="running",
        attempt=attempt,
        executor_id=executor_id,
        heartbeat_at=now,
        started_at=found.started_at or now,
    )
    data = {"state": "running", "progress": found.share, "attempt": attempt}
    trainings.add_event(db, training_id, "running", data, now)
    return trainings.get(db, training_id)


def find_blob(db: Session, training: StoredTraining) -> str | None:
    """Give the blob of a training's dataset; None if that was deleted."""
    dataset = datasets.get(db, training.dataset_id or "")
    return None if dataset is None else dataset.blob


def read_work(blobs: Blobs, blob: str | None, training: StoredTraining) -> Work:
    """Read what is to be trained on.

    Raises RefusedError where it is not fit, FileNotFoundError where it is gone.
    """
    if blob is None:
        raise FileNotFoundError
    spec = read_spec(training.spec)
    with blobs.open(blob) as stream:
        columns = read_columns(stream, spec.text_columns, available_bytes())
    return Work(spec, check_table(columns, spec, available_bytes()))


def resume(db: Session, training: StoredTraining, work: Work) -> Run:
    """Go on after the rounds that earlier attempts have left."""
    dataset = work.checked.dataset
    n_outputs = count_outputs(len(dataset.classes), dataset.is_multilabel)
    rounds = trainings.get_checkpoint(db, training.id, dataset.catalogue, n_outputs)
    return Run(work, rounds, training.share)


def advance(
    db: Session, training_id: str, attempt: int, step: Step, now: datetime
) -> bool:
    """Store a step's rounds, if any; False where the training is cancelled by now."""
    found = lock(db, training_id, attempt)
    if found.state == "cancelling":
        trainings.end(db, found, "cancelled", now)
        return False
    trainings.change(
        db,
        training_id,
        at=attempt,
        states=["running"],
        share=step.share,
        heartbeat_at=now,
    )
    trainings.add_checkpoint(db, training_id, step.rounds)
    data = {
        "state": "running",
        "progress": step.share,
        "attempt": attempt,
        "part": step.part,
    }
    if step.part in step.rounds:
        data["round"] = step.rounds[step.part][-1].number
    trainings.add_event(db, training_id, "progress", data, now)
    return True


def save(
    db: Session, training_id: str, attempt: int, result: Result, now: datetime
) -> bool:
    """Store the result, once; False where the training is cancelled by now."""
    found = lock(db, training_id, attempt, is_ended_too=True)
    if found.state == "cancelling":
        trainings.end(db, found, "cancelled", now)
    if found.state == "running":
        stored = models.insert(
            db,
            name=result.name,
            document=result.document,
            training_id=training_id,
            now=now,
        )
        trainings.end(
            db, found, "succeeded", now, share=1.0, model_id=stored.id, error=None
        )
    return found.state in ("running", "succeeded")


def fail(
    db: Session, training_id: str, attempt: int, problem: Problem, now: datetime
) -> None:
    """End an attempt's training with the reason why there is no model."""
    found = lock(db, training_id, attempt)
    if found.state == "cancelling":
        trainings.end(db, found, "cancelled", now)
    else:
        trainings.end(db, found, "failed", now, error=problem)


def release(
    db: Session, client: Queue, training_id: str, attempt: int, now: datetime
) -> None:
    """Hand a training back, so that another worker goes on with it."""
    found = lock(db, training_id, attempt)
    if found.state == "cancelling":
        trainings.end(db, found, "cancelled", now)
    else:
        requeue(db, client, found, "queued", now)


def lock(
    db: Session, training_id: str, attempt: int, *, is_ended_too: bool = False
) -> StoredTraining:
    """Lock a training for its present attempt, which it must be."""
    found = trainings.get_locked(db, training_id)
    states = ("running", "cancelling", *(["succeeded"] if is_ended_too else []))
    if found is None or found.attempt != attempt or found.state not in states:
        raise SupersededError(training_id)
    return found


def beat(db: Session, training_id: str, attempt: int, now: datetime) -> bool:
    """Tell that a worker is alive; False where it is not its training any more."""
    return trainings.change(
        db,
        training_id,
        at=attempt,
        states=("running", "cancelling"),
        heartbeat_at=now,
    )


def sweep(
    db: Session, client: Queue, now: datetime, timeout_s: float, max_attempts: int
) -> list[tuple[str, str]]:
    """Take trainings from workers that are silent; give each with its new state."""
    since = now - timedelta(seconds=timeout_s)
    waiting = {
        queue.workflow_id(one.id, one.attempt + 1): one.id
        for one in trainings.queued(db)
    }
    # Taken by a worker that fell silent before it had claimed the training.
    ids = {waiting[taken] for taken in queue.taken(client, list(waiting), since)}
    ids |= {one.id for one in trainings.silent(db, ("running", "cancelling"), since)}
    swept = []
    for training_id in sorted(ids):
        state = give_up(db, client, training_id, since, now, max_attempts)
        if state is not None:
            swept.append((training_id, state))
    return swept


def give_up(
    db: Session,
    client: Queue,
    training_id: str,
    since: datetime,
    now: datetime,
    max_attempts: int,
) -> str | None:
    """Take a training from its worker, unless another sweeper has done so."""
    found = trainings.get_locked(db, training_id)
    if found is None:
        return None
    if found.state == "queued":
        taken = queue.workflow_id(training_id, found.attempt + 1)
        if not queue.taken(client, [taken], since):
            return None
    elif not trainings.is_silent(db, training_id, since):
        return None
    if found.state == "cancelling":
        trainings.end(db, found, "cancelled", now)
        return "cancelled"
    if trainings.count_events(db, training_id, LOST) + 1 >= max_attempts:
        trainings.end(db, found, "failed", now, error=worker_lost(max_attempts))
        return "failed"
    requeue(db, client, found, LOST, now)
    return "queued"


def requeue(
    db: Session, client: Queue, training: StoredTraining, kind: str, now: datetime
) -> None:
    """Enqueue the next attempt at a locked training that is queued or running."""
    # A training whose attempt was enqueued and never claimed skips its number.
    skipped = training.attempt + (training.state == "queued")
    trainings.change(
        db,
        training.id,
        at=training.attempt,
        states=(training.state,),
        state="queued",
        attempt=skipped,
        executor_id=None,
        heartbeat_at=None,
    )
    data = {"state": "queued", "progress": training.share, "attempt": skipped}
    trainings.add_event(db, training.id, kind, data, now)
    queue.enqueue(client, db, training.id, skipped + 1)


def refused(error: RefusedError) -> Problem:
    """Say which data was refused, never the values."""
    errors = [{"field": one.field, "rule": one.rule} for one in error.refusals]
    detail = "The dataset and the spec don't fit each other."
    title = "The request breaks a rule"
    return problem("invalid-request", title, detail) | {"errors": errors}


def dataset_lost() -> Problem:
    detail = "The file of the training's dataset is gone."
    return problem("training-failed", "The training failed", detail)


def worker_lost(max_attempts: int) -> Problem:
    detail = f"The training was given up after it had lost {max_attempts} workers."
    return problem("worker-lost", "The training's workers died", detail)


def internal() -> Problem:
    detail = "The reason is in the worker's log, under the training's id."
    return problem("internal", "The service made a mistake", detail)


def problem(kind: str, title: str, detail: str) -> Problem:
    return {"type": f"/problems/{kind}", "title": title, "detail": detail}
