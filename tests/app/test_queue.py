"""The queue as those see it who wait: their place, and when the end may come."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from askless.app.service.jobs import queue, trainings
from askless.app.worker.watching import GRACE_S
from tests.app.jobs import Jobs, Spec, now
from tests.app.tenants import transaction


def test_place_is_the_order_of_claiming(jobs: Jobs, table: bytes, spec: Spec) -> None:
    ids = [jobs.start(table, spec).id for _ in range(3)]

    with transaction(jobs.engine, is_read=True) as db:
        places = [trainings.show(db, id_, now()).place for id_ in ids]
    with transaction(jobs.engine) as db:
        claimed = [queue.claim(db, "wrk_1", now()) for _ in ids]

    assert [one and one.id for one in claimed] == ids
    assert places == [1, 2, 3]


def test_end_is_expected_at_the_pace_so_far(
    jobs: Jobs, table: bytes, spec: Spec
) -> None:
    training, began = jobs.start(table, spec), now()
    told = []
    for share in (0.01, 0.25, 1.0):
        running = replace(training, state="running", started_at=began, share=share)
        with transaction(jobs.engine, is_read=True) as db:
            found = queue.estimate_progress(db, running, began + timedelta(seconds=60))
        told.append(found["expected_end"])

    later = [began + timedelta(seconds=one) for one in (240, 60)]
    assert told == [None, *later]


@dataclass
class Scripted:
    """Ends its attempts as it is told to, each outcome once, as a process tells it."""

    outcomes: list[str | None]
    begun: list[Any] = field(default_factory=list)

    def revive(self) -> bool:
        return True

    def begin(self, training: Any) -> None:
        self.begun.append(training)

    def find_outcome(self) -> str | None:
        return self.outcomes.pop(0) if self.outcomes else None

    def ask_to_stop(self) -> None: ...
    def kill(self) -> None: ...
    def end(self) -> None: ...


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_database_that_was_away_costs_a_training_no_worker(
    jobs: Jobs, table: bytes, spec: Spec
) -> None:
    training = jobs.start(table, spec)
    worker = jobs.worker(max_attempts=1)
    worker.attempts = Scripted([None, "interrupted"])
    worker.work()
    with jobs.engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER away BEFORE UPDATE ON trainings"
            " BEGIN SELECT RAISE(ABORT, 'away'); END"
        )
    with pytest.raises(sa.exc.DBAPIError):
        worker.work()
    with jobs.engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER away")

    assert worker.work() == "interrupted"

    assert jobs.get(training.id).state == "queued"
    assert [event.type for event in jobs.events(training.id)][-1] == "queued"
    assert worker.held is None


def test_worker_that_can_not_let_go_ends_all_the_same(
    jobs: Jobs, table: bytes, spec: Spec
) -> None:
    jobs.start(table, spec)
    worker = jobs.worker()
    worker.attempts = Scripted([])
    worker.work()
    worker.stop.set()

    is_done = [worker.is_done]
    assert worker.stopped is not None
    worker.stopped -= 2 * GRACE_S + 1

    assert [*is_done, worker.is_done] == [False, True]


def test_more_streams_are_followed_than_one_query_can_name(
    jobs: Jobs, table: bytes, spec: Spec
) -> None:
    training = jobs.start(table, spec)
    followed = {f"trn_{number}": 0 for number in range(2_500)} | {training.id: 0}

    with transaction(jobs.engine, is_read=True) as db:
        found = trainings.events(db, followed)

    assert len(found) == len(followed)
    assert [one.type for one in found[training.id]] == ["queued"]
