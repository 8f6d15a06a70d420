"""Workers are killed around each step that they store, and stopped for a while."""

import os
import signal
import sqlite3
from contextlib import closing
from functools import cache

import pytest

from tests.app.chaos.rows import kept_from_writing
from tests.app.jobs import Jobs, noisy_spec, noisy_table, undisturbed, wait
from tests.app.test_worker import Launch, Process, owner

pytest_plugins = ["tests.app.test_worker"]
pytestmark = pytest.mark.chaos

TABLE = noisy_table()
# Each round is a step of its own: two folds and the whole.
FEW, N_STEPS = noisy_spec(2), 6
# Rounds enough for a step to be found half done.
MANY = noisy_spec(2000)


@cache
def expected(n_rounds: int) -> str:
    return undisturbed(TABLE, noisy_spec(n_rounds))


def n_stored(jobs: Jobs, training_id: str) -> int:
    """Count the steps that are committed."""
    events = jobs.events(training_id)
    return sum(event.type == "progress" for event in events)


def pid_of(worker: Process, n_before: int) -> int:
    """Wait for the next process that computes."""
    wait(lambda: worker.events().count("child.ready") > n_before)
    return worker.child


def test_killed_before_each_step_is_stored_it_comes_to_the_same_model(
    jobs: Jobs, launch: Launch
) -> None:
    """What computes dies with a step computed and not stored, once for each step."""
    settings = {"step_s": 1e-9, "max_attempts": 100, "heartbeat_timeout_s": 30.0}
    (worker,) = launch(**settings)
    training = jobs.start(TABLE, FEW)
    for number in range(N_STEPS):
        wait(lambda number=number: n_stored(jobs, training.id) >= number)
        with kept_from_writing(jobs.settings.url):
            n_ready = worker.events().count("child.ready")
            os.kill(worker.child, signal.SIGKILL)
        pid_of(worker, n_ready)

    wait(lambda: jobs.get(training.id).state == "succeeded")

    assert jobs.document(training.id) == expected(2)
    told = [
        (event.data["part"], event.data["round"])
        for event in jobs.events(training.id)
        if "round" in event.data
    ]
    assert len(told) == len(set(told))
    assert jobs.n_checkpoints() == 0


def test_workers_killed_amid_steps_come_to_the_same_model(
    jobs: Jobs, launch: Launch
) -> None:
    """The whole worker dies, at the start, in a fold, between folds and at the end."""
    settings = {"max_attempts": 100, "heartbeat_timeout_s": 1.0, "step_s": 0.02}
    training = jobs.start(TABLE, MANY)
    for share in (0.0, 0.2, 0.34, 0.6, 0.95):
        (worker,) = launch(**settings)
        wait(lambda share=share: jobs.get(training.id).share >= share)
        worker.kill()
    launch(**settings)

    wait(lambda: jobs.get(training.id).state == "succeeded")

    assert jobs.document(training.id) == expected(2000)


def stop_between_writes(worker: Process, path: str) -> None:
    """Stop a worker and its children at a moment when none of them is writing."""

    def is_stopped() -> bool:
        worker.send(signal.SIGSTOP)
        with closing(sqlite3.connect(path, timeout=0.1)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                worker.send(signal.SIGCONT)
                return False
        return True

    wait(is_stopped)


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_worker_stopped_till_its_training_has_ended_changes_nothing(
    jobs: Jobs, launch: Launch
) -> None:
    """On PostgreSQL `tests/app/test_worker.py` has it."""
    workers = launch(2, step_s=0.3)
    training = jobs.start(TABLE, MANY)
    wait(lambda: jobs.get(training.id).share >= 0.01)
    sleeper = owner(jobs, training.id, workers)
    assert sleeper is not None

    stop_between_writes(sleeper, str(jobs.engine.url.database))
    wait(lambda: jobs.get(training.id).state == "succeeded")
    events = jobs.events(training.id)
    sleeper.send(signal.SIGCONT)
    wait(lambda: "training.superseded" in sleeper.events())

    assert jobs.events(training.id) == events
    assert jobs.document(training.id) == expected(2000)
