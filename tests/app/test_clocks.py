"""Machines whose clocks differ by a minute from the database's, which decides."""

import os
from datetime import datetime, timedelta
from io import BytesIO

import pytest
import sqlalchemy as sa

from askless.app.records import DEFAULT_TENANT, StoredAnswer
from askless.app.service import keys, operations, retries
from askless.app.service.jobs import queue
from askless.app.store.database.engine import create_engine, transaction
from askless.app.store.database.tables import sessions
from askless.app.store.retries import idempotency_keys
from askless.app.worker.errands import ANSWER_AGE, ORPHAN_AGE, Errands
from tests.app.clinic import Start
from tests.app.jobs import Jobs, Spec, now

pytest_plugins = ["tests.app.conftest_http"]
# SQLite has the clock of its one machine.
pytestmark = [
    pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True),
    pytest.mark.parametrize("ahead_s", [-60, 60], ids=["fast", "slow"]),
]
# What is found before the system's own function of this name.
CLOCK = """
CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
$$ SELECT pg_catalog.clock_timestamp() + interval '{} seconds' $$
"""
PATH = "ALTER DATABASE {} SET search_path = public, pg_catalog"
MARGIN = timedelta(seconds=30)


@pytest.fixture
def database_url(database_url: str, ahead_s: int) -> str:
    """A database that is ahead of this machine, whose clock is fast or slow."""
    engine = create_engine(database_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(CLOCK.format(ahead_s))
        connection.exec_driver_sql(PATH.format(engine.url.database))
    engine.dispose()
    return database_url


@pytest.fixture
def told(engine: sa.Engine, ahead_s: int) -> datetime:
    """The database's time, which is not this machine's."""
    with transaction(engine, None, is_read=True) as db:
        told = operations.read_clock(db)
    assert abs(told - now() - timedelta(seconds=ahead_s)) < MARGIN
    return told


@pytest.fixture
def errands(jobs: Jobs) -> Errands:
    return Errands(jobs.engine, jobs.blobs, jobs.settings)


def test_live_training_is_not_taken_over(jobs: Jobs, table: bytes, spec: Spec) -> None:
    training = jobs.start(table, spec)
    with transaction(jobs.engine, None) as db:
        queue.claim(db, "wrk_other", now())

    jobs.worker().do_upkeep()

    assert jobs.get(training.id).state == "running"


def test_answers_are_forgotten_at_their_age(
    engine: sa.Engine, told: datetime, errands: Errands
) -> None:
    kept = ANSWER_AGE
    with transaction(engine, DEFAULT_TENANT) as db:
        for key, age in (("young", kept - MARGIN), ("old", kept + MARGIN)):
            retries.store_answer(db, StoredAnswer(key, "d", 200, {}, b"{}", told - age))

    errands.delete_old_answers()

    with engine.connect() as connection:
        left = connection.scalars(sa.select(idempotency_keys.c.key)).all()
    assert left == ["young"]


def test_uploads_without_a_row_are_removed_at_their_age(
    jobs: Jobs, told: datetime, errands: Errands
) -> None:
    for name, age in (("young", ORPHAN_AGE - MARGIN), ("old", ORPHAN_AGE + MARGIN)):
        jobs.blobs.write(name, BytesIO(b"1"))
        written = (told - age).timestamp()
        os.utime(f"{jobs.blobs.root}/{name}", (written, written))

    errands.remove_orphans()

    assert os.listdir(jobs.blobs.root) == ["young"]


def test_sessions_are_erased_at_their_age(
    start: Start, engine: sa.Engine, told: datetime, errands: Errands
) -> None:
    kept = timedelta(days=3)
    for name, age in (("young", kept - MARGIN), ("old", kept + MARGIN)):
        change = sessions.update().where(sessions.c.id == start(client_ref=name)["id"])
        with engine.begin() as connection:
            connection.execute(change.values(state="closed", updated_at=told - age))
    with transaction(engine, None) as db:
        keys.set_retention(db, DEFAULT_TENANT, kept.days)

    errands.erase_old()

    with engine.connect() as connection:
        is_whole = sessions.c.client_ref.is_not(None)
        left = connection.scalars(sa.select(sessions.c.client_ref).where(is_whole))
        assert left.all() == ["young"]
