"""Attempts: a training that was claimed is computed, from its rows to its result."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from app.cluster.layout import on_cluster
from app.documents.checkpoint import rounds_from_json, rounds_to_json
from app.documents.files import model_text
from app.documents.spec import read_spec
from app.processes.memory import available_bytes
from app.processes.parts import choose_runner
from app.records import StoredTraining
from app.service.jobs.queue import hold
from app.service.sources import CellSource
from app.settings.places import ClusterPlace
from app.store import models, trainings
from app.store.blobs import Blobs
from app.store.database.transactions import Transaction
from app.uploads.checking import check_columns
from app.uploads.parsing import TableReader, read_bounded
from app.uploads.places import as_arrow, find_file, is_parquet
from app.uploads.references import (
    TableReference,
    open_reference,
    unlimited_rows,
)
from app.uploads.streams import StreamedTable
from core.pipeline.preparing import PreparedTable, prepare_columns, prepare_table
from core.pipeline.progress import Training
from core.pipeline.spec import TrainingSpec
from core.pipeline.train import train
from core.table.dataset import count_outputs
from core.training.algorithms import ALGORITHMS
from core.training.rounds import Round


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


@dataclass(frozen=True)
class Workers:
    """Where trainings on datasets that stay in their place are boosted; None: here."""

    place: ClusterPlace | None
    n_shards: int | None


class TrainingWork(NamedTuple):
    """A training's spec, as read, and its table."""

    spec: TrainingSpec
    prepared: PreparedTable


@contextmanager
def open_work(
    reader: TableReader,
    blobs: Blobs,
    source: CellSource,
    training: StoredTraining,
    workers: Workers,
) -> Iterator[TrainingWork]:
    """Read what is to be trained on, Parquet a column at a time.

    Rows of a table that stays in its place may be read on a cluster, which has them
    until the block ends. Raises RefusedError where the table is not fit, BlobGoneError
    where it is gone.
    """
    spec = read_spec(training.spec)
    if not isinstance(source, TableReference):
        yield TrainingWork(spec, read_upload(reader, blobs, source, spec))
        return
    text, bounds = spec.table.text_columns, unlimited_rows(reader.bounds)
    table = open_reference(source, reader.places, text, bounds)
    if workers.place is None or ALGORITHMS[spec.boost.algorithm].needs_values:
        prepared = prepare_columns(table, table.n_rows, spec, available_bytes())
        yield TrainingWork(spec, prepared)
        return
    with on_cluster(table, spec, workers.place, workers.n_shards) as prepared:
        yield TrainingWork(spec, prepared)


def read_upload(
    reader: TableReader, blobs: Blobs, source: str, spec: TrainingSpec
) -> PreparedTable:
    """Read a dataset that was uploaded; raises as `open_work` does."""
    bounds, text = reader.bounds, spec.table.text_columns
    with blobs.open(source) as stream:
        if not is_parquet(stream):
            return prepare_table(
                check_columns(read_bounded(stream, bounds), spec), spec
            )
    file = find_file(as_arrow(blobs.system), f"{blobs.root}/{source}")
    table = StreamedTable([file], text, bounds)
    return prepare_columns(table, table.n_rows, spec, available_bytes())


def resume(db: Transaction, training: StoredTraining, work: TrainingWork) -> Run:
    """Go on after the rounds that earlier attempts have left."""
    table = work.prepared.table
    n_outputs = count_outputs(len(table.classes), table.is_multilabel)
    done: dict[int, list[Round]] = {}
    for part, text in trainings.get_checkpoints(db, training.id):
        rounds = rounds_from_json(json.loads(text), table.catalogue, n_outputs)
        done.setdefault(part, []).extend(rounds)
    runner = choose_runner(table, work.spec)
    progress = train(work.prepared, work.spec, done, runner)
    return Run(progress, max(done, default=0), training.share)


def advance(
    db: Transaction, claimed: StoredTraining, step: TrainedStep, now: datetime
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


def save(
    db: Transaction, claimed: StoredTraining, document: str, now: datetime
) -> bool:
    """Store the model, once; False where the training is cancelled by now."""
    found = hold(db, claimed, now, is_ended_too=True)
    if found is not None and found.state == "running":
        made = models.insert(db, found.name, document, now, found.id, found.refit_of)
        trainings.end(
            db, found, "succeeded", now, share=1.0, model_id=made.id, error=None
        )
    return found is not None
