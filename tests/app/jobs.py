"""Trainings for tests: started through the service, worked on in this process."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from askless.app.documents.files import model_text
from askless.app.documents.spec.spec import read_spec
from askless.app.documents.text import parse_spec
from askless.app.records import JobEvent, StoredJob
from askless.app.service import datasets, sources
from askless.app.service.jobs import queue, run, training_runs, trainings
from askless.app.settings.settings import Settings
from askless.app.store import models
from askless.app.store.blobs import Blobs
from askless.app.store.jobs import checkpoints
from askless.app.uploads.parsing import make_reader
from askless.app.uploads.streams import read_columns
from askless.app.worker.computing import STEP_S, Computer
from askless.app.worker.watching import Worker
from askless.core.pipeline.check import check_training
from askless.core.pipeline.train import train
from tests.app.tenants import transaction
from tests.small import finish

Spec = dict[str, Any]


def noisy_table(n_rows: int = 120) -> bytes:
    """A table on which boosting never gets perfect, so that it takes its time."""
    random = np.random.default_rng(7)
    values = random.normal(size=(n_rows, 3)).round(3)
    noise = random.normal(size=n_rows)
    rows = [
        ",".join(map(str, [*row, int(row.sum() + noise[idx] > 0)]))
        for idx, row in enumerate(values)
    ]
    return "\n".join(["a,b,c,y", *rows, ""]).encode()


def noisy_spec(rounds: int) -> Spec:
    return {
        "name": "noisy",
        "target": "y",
        "algorithm": "adaboost_bt_smoothed",
        "params": {"rounds": rounds},
        "validation": {"folds": 2},
    }


def undisturbed(table: bytes, spec: Spec) -> str:
    """MODEL.json as a training makes it that nothing interrupts."""
    wanted = read_spec(spec)
    columns = read_columns(BytesIO(table), wanted.table.text_columns)
    return model_text(finish(train(check_training(columns, wanted), wanted)))


@dataclass
class Here:
    """Makes attempts at once, in the process of the test."""

    computer: Computer
    outcome: str | None = None

    def revive(self) -> bool:
        return True

    def begin(self, training: StoredJob) -> None:
        self.outcome = self.computer.work(training)

    def find_outcome(self) -> str | None:
        return self.outcome

    def ask_to_stop(self) -> None:
        self.computer.stop.set()

    def kill(self) -> None: ...
    def end(self) -> None: ...


@dataclass(frozen=True)
class Jobs:
    """A database with its uploads, and short ways to use them."""

    settings: Settings
    engine: sa.Engine
    blobs: Blobs

    def start(self, table: bytes, spec: Spec) -> StoredJob:
        upload, order = self.read(table, parse_spec(json.dumps(spec).encode()))
        with transaction(self.engine) as db:
            dataset = datasets.store(db, self.blobs, upload, now())
            return trainings.start(db, order, dataset.id, now())

    def read(
        self, table: bytes, raw: dict[str, Any]
    ) -> tuple[datasets.Upload, trainings.Order]:
        """Read and check a table as an upload is."""
        stream = BytesIO(table)
        order, facts = trainings.check_training(make_reader(self.settings), raw, stream)
        return datasets.make_upload("table.csv", stream, facts), order

    def worker(self, step_s: float = STEP_S, **settings: Any) -> Worker:
        """A worker that makes its attempts in this process."""
        own = self.settings.model_copy(update=settings)
        stop = threading.Event()
        here = Here(Computer(own, self.engine, self.blobs, stop, step_s=step_s))
        return Worker(own, self.engine, here, threading.Event())

    def get(self, training_id: str) -> StoredJob:
        with transaction(self.engine, is_read=True) as db:
            return trainings.get(db, training_id)

    def cancel(self, training_id: str) -> StoredJob:
        with transaction(self.engine) as db:
            return trainings.cancel(db, training_id, now())

    def events(self, training_id: str, after: int = 0) -> tuple[JobEvent, ...]:
        with transaction(self.engine, is_read=True) as db:
            return trainings.events(db, {training_id: after})[training_id]

    def document(self, training_id: str) -> str:
        """MODEL.json of a training that has succeeded."""
        model_id = self.get(training_id).model_id
        assert model_id is not None
        with transaction(self.engine, is_read=True) as db:
            stored = models.get(db, model_id)
        assert stored is not None
        assert stored.training_id == training_id
        return stored.document

    def n_checkpoints(self) -> int:
        with transaction(self.engine, is_read=True) as db:
            return db.scalar(sa.select(sa.func.count()).select_from(checkpoints)) or 0

    def begin(self, training_id: str, attempt: int) -> training_runs.TrainingRun:
        """Claim an attempt as a worker does, and load its work."""
        with transaction(self.engine) as db:
            claimed = queue.claim(db, "wrk_test", now())
            assert claimed is not None
            assert (claimed.id, claimed.attempt) == (training_id, attempt)
            source = sources.find_cells(db, claimed.dataset_id)
        workshop = run.Workshop(make_reader(self.settings), self.blobs, None)
        opened = training_runs.open_training(
            workshop, run.JobSource(source, None), claimed
        )
        with opened as work, transaction(self.engine, is_read=True) as db:
            return training_runs.resume_training(db, claimed, work)

    def advance(
        self,
        training_id: str,
        attempt: int,
        run: training_runs.TrainingRun,
        n_rounds: int = 1,
    ) -> bool:
        """Store some rounds of a run as one step."""
        steps = [run.pull(0.0) for _ in range(n_rounds)]
        rounds: dict[int, list[Any]] = {}
        for step in steps:
            for part, added in step.rounds.items():
                rounds.setdefault(part, []).extend(added)
        with transaction(self.engine) as db:
            step = replace(steps[-1], rounds=rounds)
            claimed = replace(trainings.get(db, training_id), attempt=attempt)
            return training_runs.save_rounds(db, claimed, step, now())

    def sweep(self, max_attempts: int = 3) -> list[tuple[str, str]]:
        """Sweep as if every worker had been silent for long."""
        with transaction(self.engine) as db:
            return queue.requeue_silent(db, -3600.0, max_attempts, now())


def now() -> datetime:
    return datetime.now(UTC)


def wait(is_so: Callable[[], Any], timeout_s: float = 40.0) -> Any:
    """Return what is true once it is; a deadline, not a pause."""
    deadline = now() + timedelta(seconds=timeout_s)
    pause = threading.Event()
    while not (found := is_so()):
        assert now() < deadline, "it did not become so in time"
        pause.wait(0.02)
    return found


def is_alive(pid: int) -> bool:
    """Whether there is such a process, which has not ended."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def lines(text: str) -> Iterator[dict[str, Any]]:
    """Parse a worker's log."""
    for line in text.splitlines():
        if line.startswith("{"):
            yield json.loads(line)
