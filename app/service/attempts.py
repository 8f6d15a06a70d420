"""Attempts: what workers do with trainings, from claim to result.

An attempt that is not the training's present one can write nothing: either it finds
out, or it is told by `SupersededError`.
"""

import json
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from app.documents.checkpoint import rounds_from_json, rounds_to_json
from app.documents.files import model_text
from app.documents.spec import read_spec
from app.errors import BlobGoneError, SupersededError
from app.ingest import Bounds, read_columns
from app.memory import available_bytes
from app.problems import problem_document
from app.records import StoredTraining
from app.store import datasets, models, trainings
from app.store.blobs import Blobs
from core.errors import RefusedError
from core.pipeline.check import check_training
from core.pipeline.progress import Training
from core.pipeline.train import train
from core.table.check import CheckedTable
from core.table.dataset import count_outputs
from core.training.rounds import Round

beat = trainings.beat
# Whether there is anything to claim or to sweep: these need no write transaction.
is_any_queued, silent_tenants = trainings.is_any_queued, trainings.silent_tenants
LOST = "lost"
Problem = dict[str, Any]


@dataclass(frozen=True)
class TrainedStep:
    """Rounds by part since the step before; with the last one comes MODEL.json.

    A step inside a selection of features brings no rounds. `part` is where training
    has come to.
    """

    part: int
    rounds: dict[int, list[Round]]
    share: float
    document: str | None


@dataclass
class Run:
    """A training in this process's memory, computed a step at a time.

    `share` begins with what earlier attempts came to: it does not fall where a
    selection that was interrupted is made anew.
    """

    progress: Training
    part: int
    share: float

    def pull(self, step_s: float) -> TrainedStep:
        """Compute for a while, at least one round or one candidate of a selection."""
        deadline = time.monotonic() + step_s
        added: dict[int, list[Round]] = {}
        while True:
            try:
                progress = next(self.progress)
            except StopIteration as end:
                return TrainedStep(self.part, added, 1.0, model_text(end.value))
            if progress.added is not None:
                added.setdefault(progress.part, []).append(progress.added)
            self.part = progress.part
            self.share = max(self.share, progress.share)
            if time.monotonic() >= deadline:
                return TrainedStep(self.part, added, self.share, None)


def claim(db: Session, holder: str, now: datetime) -> StoredTraining | None:
    """Begin the next attempt at the oldest training in the queue, if there is one."""
    claimed = trainings.claim(db, holder)
    if claimed is not None:
        share, attempt = claimed.share, claimed.attempt
        trainings.add_event(db, claimed.id, "running", now, share, attempt=attempt)
    return claimed


def find_blob(db: Session, training: StoredTraining) -> str:
    """Return the blob of a training's dataset; BlobGoneError if that was deleted."""
    dataset = datasets.find(db, training.dataset_id or "")
    if dataset is None:
        raise BlobGoneError
    return dataset.blob


def read_work(blobs: Blobs, blob: str, training: StoredTraining) -> CheckedTable:
    """Read what is to be trained on.

    Raises RefusedError where it is not fit, BlobGoneError where it is gone.
    """
    spec = read_spec(training.spec)
    with blobs.open(blob) as stream:
        columns = read_columns(
            stream, spec.table.text_columns, Bounds(memory=available_bytes())
        )
    return check_training(columns, spec, available_bytes())


def resume(db: Session, training: StoredTraining, checked: CheckedTable) -> Run:
    """Go on after the rounds that earlier attempts have left."""
    dataset = checked.dataset
    n_outputs = count_outputs(len(dataset.classes), dataset.is_multilabel)
    done: dict[int, list[Round]] = {}
    for part, text in trainings.get_checkpoints(db, training.id):
        rounds = rounds_from_json(json.loads(text), dataset.catalogue, n_outputs)
        done.setdefault(part, []).extend(rounds)
    progress = train(checked, read_spec(training.spec), done)
    return Run(progress, max(done, default=0), training.share)


def advance(
    db: Session, claimed: StoredTraining, step: TrainedStep, now: datetime
) -> bool:
    """Store a step's rounds, if any; False where the training is cancelled by now."""
    if hold(db, claimed, now) is None:
        return False
    key, attempt = claimed.id, claimed.attempt
    trainings.beat(db, claimed)
    trainings.change(db, key, share=step.share)
    for part, added in step.rounds.items():
        text = json.dumps(rounds_to_json(added))
        trainings.add_checkpoint(db, key, part, added[0].number, text)
    more: dict[str, Any] = {"state": "running", "attempt": attempt, "part": step.part}
    if step.part in step.rounds:
        more["round"] = step.rounds[step.part][-1].number
    trainings.add_event(db, key, "progress", now, step.share, **more)
    return True


def save(db: Session, claimed: StoredTraining, document: str, now: datetime) -> bool:
    """Store the model, once; False where the training is cancelled by now."""
    found = hold(db, claimed, now, is_ended_too=True)
    if found is not None and found.state == "running":
        made = models.insert(db, found.name, document, now, found.id, found.refit_of)
        trainings.end(
            db, found, "succeeded", now, share=1.0, model_id=made.id, error=None
        )
    return found is not None


def fail(db: Session, claimed: StoredTraining, problem: Problem, now: datetime) -> None:
    """End an attempt's training with the reason why there is no model."""
    found = hold(db, claimed, now)
    if found is not None:
        trainings.end(db, found, "failed", now, error=problem)


def release(db: Session, claimed: StoredTraining, now: datetime) -> None:
    """Hand a training back, so that another worker goes on with it."""
    found = hold(db, claimed, now)
    if found is not None:
        trainings.requeue(db, found, "queued", now)


def hold(
    db: Session, claimed: StoredTraining, now: datetime, *, is_ended_too: bool = False
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
    db: Session, timeout_s: float, max_attempts: int, now: datetime
) -> list[tuple[str, str]]:
    """Take a tenant's trainings from silent workers; return each with its state."""
    silent = trainings.lock_silent(db, timeout_s)
    return [(one.id, give_up(db, one, max_attempts, now)) for one in silent]


def give_up(
    db: Session, training: StoredTraining, max_attempts: int, now: datetime
) -> str:
    """Take a locked training from a lost worker; return its new state."""
    if training.state == "cancelling":
        trainings.end(db, training, "cancelled", now)
        return "cancelled"
    if trainings.count_events(db, training.id, LOST) + 1 >= max_attempts:
        detail = f"The training was given up after it had lost {max_attempts} workers."
        problem = problem_document("worker-lost", detail)
        trainings.end(db, training, "failed", now, error=problem)
        return "failed"
    trainings.requeue(db, training, LOST, now)
    return "queued"


def refused(error: RefusedError) -> Problem:
    """Say which data was refused, never the values."""
    errors = [{"field": one.field, "rule": one.told} for one in error.refusals]
    detail = "The dataset and the spec don't fit each other."
    return problem_document("invalid-request", detail, errors=errors)


def dataset_lost() -> Problem:
    detail = "The file of the training's dataset is gone."
    return problem_document("training-failed", detail)


def internal() -> Problem:
    detail = "The reason is in the worker's log, under the training's id."
    return problem_document("internal", detail)
