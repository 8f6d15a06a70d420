"""The worker as a process of its own: killed, stopped, suspended, told to end."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import fsspec
import pytest
import sqlalchemy as sa
from fsspec.implementations.local import LocalFileSystem

from askless.app.documents.files import model_text, read_model
from askless.app.processes.child import FORKSERVER, set_preloaded
from askless.app.records import StoredJob
from askless.app.service import datasets
from askless.app.service.jobs import table_jobs
from askless.app.settings.settings import Settings
from askless.app.store import models
from askless.app.store.database.tables import trainings as training_rows
from askless.app.uploads.parsing import make_reader
from askless.app.uploads.streams import read_columns
from askless.app.worker import run
from askless.app.worker.watching import GRACE_S
from askless.core.pipeline.online.learning import Learning
from askless.core.pipeline.online.learning_rows import read_rows_to_learn
from tests.app.conftest import admin, sibling
from tests.app.jobs import (
    Jobs,
    is_alive,
    lines,
    noisy_spec,
    noisy_table,
    now,
    undisturbed,
    wait,
)
from tests.app.tenants import transaction

pytestmark = pytest.mark.slow

# Workers are forked from a process that has their imports: these take seconds.
set_preloaded("askless.app.worker", "askless.core.kernels")
TABLE = noisy_table()
SPEC = noisy_spec(2000)


@cache
def expected() -> str:
    return undisturbed(TABLE, SPEC)


def run_logged(settings: Settings, log: Path, step_s: float) -> None:
    """Be a worker whose log is a file, and whose group is its children."""
    os.setpgrp()
    with log.open("w") as stream:
        os.dup2(stream.fileno(), sys.stderr.fileno())
    run(settings, step_s=step_s)


@dataclass
class Process:
    """One worker process and its log."""

    process: Any
    log: Path

    def lines(self) -> list[dict[str, Any]]:
        return list(lines(self.log.read_text())) if self.log.exists() else []

    def events(self) -> list[str]:
        return [line["event"] for line in self.lines()]

    @property
    def holder(self) -> str | None:
        for line in self.lines():
            if line["event"] == "worker.ready":
                return str(line["holder"])
        return None

    @property
    def child(self) -> int:
        """The process that computes."""
        pids = [line["pid"] for line in self.lines() if line["event"] == "child.ready"]
        return int(pids[-1])

    @property
    def child_codes(self) -> list[int]:
        """What the processes that computed ended with, where they died."""
        return [line["code"] for line in self.lines() if line["event"] == "child.lost"]

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the worker and its children."""
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.send(signal.SIGKILL)
        self.process.join()


Launch = Callable[..., list[Process]]


@pytest.fixture
def launch(jobs: Jobs, tmp_path: Path) -> Iterator[Launch]:
    """Start workers and wait until they are ready; they end with the test."""
    made: list[Process] = []

    def launch(
        n_workers: int = 1, step_s: float = 0.05, **settings: object
    ) -> list[Process]:
        given = jobs.settings.model_copy(update={"heartbeat_timeout_s": 1.5} | settings)
        begun = []
        for _ in range(n_workers):
            log = tmp_path / f"worker{len(made)}.log"
            process = FORKSERVER.Process(target=run_logged, args=(given, log, step_s))
            process.start()
            begun.append(Process(process, log))
            made.append(begun[-1])
        for process in begun:
            wait(lambda process=process: process.holder)
        return begun

    yield launch
    for process in made:
        with suppress(ProcessLookupError):
            process.send(signal.SIGCONT)
        process.kill()


def owner(jobs: Jobs, training_id: str, workers: list[Process]) -> Process | None:
    """Return the worker that a training is with."""
    with transaction(jobs.engine, is_read=True) as db:
        holder = db.scalar(
            sa.select(training_rows.c.holder).where(
                training_rows.c.id == training_id, training_rows.c.state == "running"
            )
        )
    return next((worker for worker in workers if worker.holder == holder), None)


def wait_for_share(jobs: Jobs, training_id: str, share: float) -> None:
    wait(lambda: jobs.get(training_id).share >= share)


def wait_for_state(jobs: Jobs, training_id: str, state: str) -> None:
    wait(lambda: jobs.get(training_id).state == state)


def test_killed_workers_are_replaced_and_the_model_is_the_same(
    jobs: Jobs, launch: Launch
) -> None:
    workers = launch(3, max_attempts=10)
    training = jobs.start(TABLE, SPEC)

    for share in (0.05, 0.6):
        wait_for_share(jobs, training.id, share)
        running = owner(jobs, training.id, workers)
        assert running is not None
        running.kill()
        workers.remove(running)
    wait_for_state(jobs, training.id, "succeeded")

    assert jobs.document(training.id) == expected()
    events = jobs.events(training.id)
    assert [event.type for event in events].count("lost") >= 2
    # Never two at once: once an attempt has begun, no earlier one stores a step.
    told = [event.data["attempt"] for event in events if "attempt" in event.data]
    assert told == sorted(told)
    # Nothing is computed twice but what was on its way.
    shares = [event.data["progress"] for event in events]
    assert shares == sorted(shares)


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_worker_cancels_hands_back_and_ends_cleanly(jobs: Jobs, launch: Launch) -> None:
    (worker,) = launch()
    first, second = (jobs.start(TABLE, SPEC) for _ in range(2))

    wait_for_share(jobs, first.id, 0.01)
    jobs.cancel(first.id)
    wait_for_state(jobs, first.id, "cancelled")
    wait_for_share(jobs, second.id, 0.2)
    worker.process.terminate()
    worker.process.join(30)

    assert worker.process.exitcode == 0
    handed = jobs.get(second.id)
    assert (handed.state, handed.attempt) == ("queued", 1)
    assert worker.events()[-3:] == [
        "worker.stopping",
        "training.released",
        "worker.stopped",
    ]
    launch()
    wait_for_state(jobs, second.id, "succeeded")
    assert jobs.document(second.id) == expected()
    assert "lost" not in [event.type for event in jobs.events(second.id)]


class PipedFiles(LocalFileSystem):
    """Files that are read once a pipe has ended: as a store that takes its time."""

    def open(self, path: str, *options: Any, **more: Any) -> Any:
        (Path(path).parent / "pipe").read_bytes()
        return super().open(path, *options, **more)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.removeprefix("piped://")))


fsspec.register_implementation("piped", PipedFiles)


def find_reader(pipe: Path) -> int | None:
    """Open the writing end of a pipe, once somebody reads from it."""
    with suppress(OSError):
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    return None


@dataclass
class SlowReading:
    """A worker that reads an upload, which has no end until the pipe does."""

    worker: Process
    training_id: str
    pipe: int


@pytest.fixture
def reading(jobs: Jobs, launch: Launch, tmp_path: Path) -> Iterator[SlowReading]:
    training = jobs.start(TABLE, noisy_spec(5))
    uploads = tmp_path / "uploads"
    os.mkfifo(uploads / "pipe")
    (worker,) = launch(max_attempts=1, blobs=f"piped://{uploads}")
    pipe = wait(lambda: find_reader(uploads / "pipe"))
    yield SlowReading(worker, training.id, pipe)
    os.close(pipe)


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_worker_that_still_reads_a_table_hands_the_training_back_at_once(
    jobs: Jobs, reading: SlowReading
) -> None:
    reading.worker.process.terminate()
    # What does not end is killed later.
    reading.worker.process.join(GRACE_S)

    assert reading.worker.process.exitcode == 0
    assert [event.type for event in jobs.events(reading.training_id)][-1] == "queued"
    assert reading.worker.events()[-2:] == ["training.released", "worker.stopped"]


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_process_that_is_told_to_end_before_its_worker_costs_no_attempt(
    jobs: Jobs, reading: SlowReading
) -> None:
    os.kill(reading.worker.child, signal.SIGTERM)

    wait(lambda: jobs.get(reading.training_id).attempt == 2)

    assert "lost" not in [event.type for event in jobs.events(reading.training_id)]


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_suspended_worker_writes_nothing_once_it_wakes(
    jobs: Jobs, launch: Launch
) -> None:
    workers = launch(2, step_s=0.3)
    training = jobs.start(TABLE, SPEC)
    wait_for_share(jobs, training.id, 0.01)
    sleeper = owner(jobs, training.id, workers)
    assert sleeper is not None

    sleeper.send(signal.SIGSTOP)
    wait_for_state(jobs, training.id, "succeeded")
    events = jobs.events(training.id)
    sleeper.send(signal.SIGCONT)
    wait(lambda: "training.superseded" in sleeper.events())

    assert jobs.events(training.id) == events
    assert jobs.document(training.id) == expected()
    # And it is of use again.
    (other,) = (worker for worker in workers if worker is not sleeper)
    other.kill()
    wait_for_state(jobs, jobs.start(TABLE, noisy_spec(5)).id, "succeeded")
    # Its log says so after the database does.
    wait(lambda: sleeper.events()[-1] == "training.succeeded")


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_training_that_kills_too_many_workers_fails(jobs: Jobs, launch: Launch) -> None:
    workers = launch(3, max_attempts=2)
    training = jobs.start(TABLE, SPEC)

    for attempt in (1, 2):
        wait(lambda attempt=attempt: jobs.get(training.id).attempt == attempt)
        running = wait(lambda: owner(jobs, training.id, workers))
        running.kill()
        workers.remove(running)
    wait_for_state(jobs, training.id, "failed")

    error = jobs.get(training.id).error
    assert error is not None
    assert error["type"] == "/problems/worker-lost"
    (last,) = workers
    assert last.process.is_alive()


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_death_of_the_process_that_computes_is_told_at_once(
    jobs: Jobs, launch: Launch
) -> None:
    (worker,) = launch(heartbeat_timeout_s=3600.0)
    training = jobs.start(TABLE, SPEC)
    wait_for_share(jobs, training.id, 0.01)

    os.kill(worker.child, signal.SIGSEGV)
    wait(lambda: jobs.get(training.id).attempt == 2)

    assert [event.type for event in jobs.events(training.id)].count("lost") == 1
    # A worker that dies takes it along.
    wait(lambda: worker.events().count("child.ready") == 2)
    os.kill(worker.process.pid, signal.SIGKILL)
    wait(lambda: not is_alive(worker.child))


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_worker_outlives_a_training_that_takes_too_much_memory(
    jobs: Jobs, launch: Launch
) -> None:
    (worker,) = launch(max_training_bytes=8_000_000)
    large = jobs.start(noisy_table(20_000), SPEC)
    small = jobs.start(TABLE, noisy_spec(5))

    wait_for_state(jobs, small.id, "succeeded")

    ended = jobs.get(large.id)
    assert ended.state == "failed"
    assert ended.error is not None
    assert ended.error["type"] == "/problems/out-of-memory"
    # Compiled code that is refused memory may fault, which is tried once more.
    assert set(worker.child_codes) <= {-signal.SIGABRT, -signal.SIGSEGV}


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_long_computation_is_ended_in_its_midst(jobs: Jobs, launch: Launch) -> None:
    (worker,) = launch(max_training_s=1.0, heartbeat_timeout_s=0.5)
    # As a fit that goes on for ever: the process that computes lets nothing be heard.
    os.kill(worker.child, signal.SIGSTOP)

    training = jobs.start(TABLE, SPEC)
    wait_for_state(jobs, training.id, "failed")

    ended = jobs.get(training.id)
    # Its worker was not thought dead.
    assert ended.attempt == 1
    assert ended.error is not None
    assert ended.error["type"] == "/problems/time-limit"


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_worker_takes_a_connection_for_each_of_its_processes(
    jobs: Jobs, launch: Launch
) -> None:
    launch()
    training = jobs.start(TABLE, noisy_spec(5))
    wait_for_state(jobs, training.id, "succeeded")
    jobs.engine.dispose()

    name = jobs.engine.url.database
    count = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'"
    with admin(sibling(jobs.settings.url, "postgres")) as connection:
        wait(lambda: connection.exec_driver_sql(count).scalar() == 3)


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_killed_worker_has_learnt_all_or_nothing(jobs: Jobs, launch: Launch) -> None:
    spec = noisy_spec(30) | {"algorithm": "online"}
    training = jobs.start(TABLE, spec)
    assert jobs.worker().work() == "succeeded"
    model_id = jobs.get(training.id).model_id
    assert model_id is not None
    stored = read_model(json.loads(jobs.document(training.id)))
    table = noisy_table(60_000)
    columns = read_columns(BytesIO(table), frozenset("y"))
    learning = Learning(stored)
    learning.learn(read_rows_to_learn(columns, stored, 60_000))
    whole = model_text(learning.finish()[0])
    job = start_learning_job(jobs, model_id, table)

    def get() -> StoredJob:
        with transaction(jobs.engine, is_read=True) as db:
            return table_jobs.get(db, job.id)

    workers = launch(2, max_attempts=10)
    running = wait(lambda: get().share and owner(jobs, job.id, workers))
    running.kill()
    with transaction(jobs.engine, is_read=True) as db:
        assert len(models.list_versions(db, "noisy")) == 1
    wait(lambda: get().state == "succeeded")

    with transaction(jobs.engine, is_read=True) as db:
        newest, first = models.list_versions(db, "noisy")
        assert (newest.learnt_from, first.id) == (model_id, model_id)
        assert models.get(db, newest.id).document == whole
    assert [event.type for event in jobs.events(job.id)].count("lost") == 1


def start_learning_job(jobs: Jobs, model_id: str, table: bytes) -> StoredJob:
    """Store a table, and queue the job that learns its rows."""
    upload = datasets.read_upload(
        make_reader(jobs.settings), "more.csv", BytesIO(table)
    )
    order = table_jobs.JobOrder("learn", model_id, {})
    with transaction(jobs.engine) as db:
        dataset = datasets.store(db, jobs.blobs, upload, now())
        return table_jobs.start(db, order, dataset.id, now())
