"""Compute trainings in a worker, from the rows to the model."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from askless.app.cluster.layout import prepare_on_cluster
from askless.app.cluster.versions import core_version
from askless.app.documents.files import model_text
from askless.app.documents.http.trainings import TestedParts
from askless.app.documents.model.checkpoint import rounds_from_json, rounds_to_json
from askless.app.documents.spec.spec import read_spec
from askless.app.processes.parts import choose_runner
from askless.app.records import StoredJob
from askless.app.service.jobs import queue
from askless.app.service.jobs.run import JobSource, Workshop, open_cells
from askless.app.store import jobs, models
from askless.app.store.database.transactions import Transaction
from askless.app.uploads.checking import prepare_streamed
from askless.core.model.model import Curve
from askless.core.pipeline.preparing import PreparedTable
from askless.core.pipeline.progress import Training
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.table.dataset import count_outputs
from askless.core.training.algorithms import ALGORITHMS
from askless.core.training.rounds import Round


@dataclass(frozen=True)
class TrainingStep:
    """The rounds of each part since the previous step; the last one has MODEL.json.

    `part` is where the training is: a fold, or the whole table. A step inside a
    selection of features has no rounds. `recipe` says how they are grown
    (`hash_recipe`). `tested` are the curves of folds so far.
    """

    part: int
    n_parts: int | None
    rounds: dict[int, list[Round]]
    share: float
    document: str | None
    recipe: str
    tested: tuple[Curve, ...] = ()

    @property
    def is_last(self) -> bool:
        return self.document is not None

    def store(self, db: Transaction, claimed: StoredJob, now: datetime) -> bool:
        """Write the rounds or the model; return False if the training is cancelled."""
        if self.document is None:
            return save_rounds(db, claimed, self, now)
        return save_model(db, claimed, self.document, now)


@dataclass
class TrainingRun:
    """A training, computed step by step in this process.

    `share` starts where earlier attempts ended and never falls, even if an interrupted
    selection starts anew.
    """

    progress: Training
    part: int
    share: float
    recipe: str
    n_parts: int | None = None
    tested: list[Curve] = field(default_factory=list)

    def pull(self, step_s: float) -> TrainingStep:
        """Compute for `step_s` seconds, at least one round or selection candidate."""
        deadline = time.monotonic() + step_s
        rounds: dict[int, list[Round]] = {}
        while True:
            try:
                progress = next(self.progress)
            except StopIteration as end:
                document = model_text(end.value)
                where = self.part, self.n_parts
                return TrainingStep(*where, rounds, 1.0, document, self.recipe)
            if progress.added is not None:
                rounds.setdefault(progress.part, []).append(progress.added)
            if progress.tested is not None:
                self.tested.append(progress.tested)
            self.part, self.n_parts = progress.part, progress.n_parts
            self.share = max(self.share, progress.share)
            if time.monotonic() >= deadline:
                where, tested = (self.part, self.n_parts), tuple(self.tested)
                return TrainingStep(
                    *where, rounds, self.share, None, self.recipe, tested
                )


class TrainingWork(NamedTuple):
    """A training's spec, as read, and its table."""

    spec: TrainingSpec
    prepared: PreparedTable


@contextmanager
def open_training(
    workshop: Workshop, source: JobSource, job: StoredJob
) -> Iterator[TrainingWork]:
    """Read the table to train on, a column at a time.

    A table that stays in its place may be read on a cluster, which holds the rows until
    the block ends. Raises RefusedError if the table can't be used, BlobGoneError if it
    is gone.
    """
    spec, is_upload = read_spec(job.spec), isinstance(source.cells, str)
    table = open_cells(workshop, source.cells, spec.table.text_columns)
    needs_values = ALGORITHMS[spec.boost.algorithm].needs_values
    if workshop.place is None or is_upload or needs_values:
        yield TrainingWork(spec, prepare_streamed(table, spec))
        return
    with prepare_on_cluster(table, spec, workshop.place, None) as prepared:
        yield TrainingWork(spec, prepared)


def resume_training(db: Transaction, job: StoredJob, work: TrainingWork) -> TrainingRun:
    """Resume a training after the rounds that earlier attempts have stored.

    Rounds of another recipe are not read: the training then starts anew.
    """
    table = work.prepared.table
    n_outputs = count_outputs(len(table.classes), table.is_multilabel)
    done: dict[int, list[Round]] = {}
    recipe = hash_recipe(work.spec)
    for part, text in jobs.get_checkpoints(db, job.id, recipe):
        rounds = rounds_from_json(json.loads(text), table.catalogue, n_outputs)
        done.setdefault(part, []).extend(rounds)
    runner = choose_runner(table, work.spec)
    progress = train(work.prepared, work.spec, done, runner)
    return TrainingRun(progress, max(done, default=0), job.share, recipe)


def save_rounds(
    db: Transaction, claimed: StoredJob, step: TrainingStep, now: datetime
) -> bool:
    """Store a step's rounds, if any; return False if the training is cancelled."""
    more: dict[str, Any] = {"part": step.part, "parts": step.n_parts}
    if step.tested:
        more["tested"] = TestedParts.of_curves(step.tested).model_dump(mode="json")
    if step.part in step.rounds:
        more["round"] = step.rounds[step.part][-1].number
    if not queue.advance(db, claimed, step.share, now, **more):
        return False
    if step.rounds:
        checkpoints = [
            (part, added[0].number, json.dumps(rounds_to_json(added)))
            for part, added in step.rounds.items()
        ]
        jobs.add_checkpoints(db, claimed.id, step.recipe, checkpoints)
    return True


def hash_recipe(spec: TrainingSpec) -> str:
    """Return a hash of how the rounds of a training are grown.

    It is another one for every other code of core, and for other defaults of a spec.
    """
    recipe = core_version(), spec.boost, spec.seed, spec.folds, spec.deal
    return sha256(repr(recipe).encode()).hexdigest()


def save_model(
    db: Transaction, claimed: StoredJob, document: str, now: datetime
) -> bool:
    """Store the model, once; return False if the training is cancelled."""
    # A training that has succeeded is accepted, so that saving twice changes nothing.
    training = queue.lock_claimed(db, claimed, now, is_ended_too=True)
    if training is not None and training.state == "running":
        model = models.insert(db, training.name, document, now, training.id)
        queue.succeed(db, training, now, model.id)
    return training is not None
