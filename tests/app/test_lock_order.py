"""Jobs are locked before names, so that those who take both never deadlock."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Event

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.service.jobs import queue, training_runs
from askless.app.service.loop import challenges
from askless.app.store.database.transactions import Transaction
from tests.app.jobs import Jobs
from tests.app.signs import NAME, Refresh, Work
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_challenges"]
on_postgres = pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
WAITING = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")


def now() -> datetime:
    return datetime.now(UTC)


def wait_for_lock(engine: sa.Engine) -> None:
    """Return once some transaction waits for a lock."""
    turn = Event()
    for _ in range(1000):
        with engine.connect() as connection:
            if connection.execute(WAITING).scalar_one():
                return
        turn.wait(0.01)
    raise AssertionError("nobody waits")


def save_beside(
    client: TestClient, jobs: Jobs, champion: str, act: Callable[[Transaction], None]
) -> None:
    """Save the model of a training, while `act` waits in another transaction."""

    def do() -> None:
        with transaction(jobs.engine) as db:
            act(db)

    document = client.get(f"/models/{champion}/export").text
    with transaction(jobs.engine) as db:
        job = queue.claim(db, "worker", now())
    assert job is not None
    with ThreadPoolExecutor() as pool:
        with transaction(jobs.engine) as db:
            assert queue.lock_claimed(db, job, now()) is not None
            waiting = pool.submit(do)
            wait_for_lock(jobs.engine)
            assert training_runs.save_model(db, job, document, now())
        waiting.result()


@on_postgres
def test_a_challenge_ends_while_its_training_saves_its_model(
    client: TestClient, champion: str, work: Work, refresh: Refresh, jobs: Jobs
) -> None:
    work("1", a=1.0, b=0.0)
    training = refresh().json()["id"]

    save_beside(
        client, jobs, champion, lambda db: challenges.stop_challenge(db, NAME, now())
    )

    assert client.get(f"/train/{training}").json()["state"] == "succeeded"
    assert client.get(f"/models/{NAME}/challenge").json()["state"] == "ended"
