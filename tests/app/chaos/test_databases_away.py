"""The database is restarted, or locked by another, under load; nothing is lost."""

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from askless import Client
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import create_engine
from tests.app.chaos.rows import count_rows, violations
from tests.app.chaos.servers_of_postgres import OwnPostgres, own_postgres
from tests.app.clinic import many, model_json
from tests.app.jobs import Jobs, noisy_spec, noisy_table, undisturbed, wait
from tests.app.servers import Server
from tests.app.test_worker import Launch

pytest_plugins = ["tests.app.conftest_server", "tests.app.test_worker"]
pytestmark = pytest.mark.chaos

N_CALLERS, N_SESSIONS, N_FEATURES, N_PAID = 4, 4, 12, 10
N_CHARGES = N_CALLERS * N_SESSIONS * N_PAID
# Of the charges, when the database goes away.
SHARES = (0.1, 0.4, 0.7)
TABLE, SPEC = noisy_table(), noisy_spec(2000)


@pytest.fixture
def postgres(
    engine_name: str, short_folder: Path, request: pytest.FixtureRequest
) -> Iterator[OwnPostgres | None]:
    if engine_name == "sqlite":
        yield None
        return
    wheel = request.getfixturevalue("postgres_wheel")
    with own_postgres(wheel, short_folder) as made:
        yield made


@pytest.fixture
def settings(
    postgres: OwnPostgres | None, request: pytest.FixtureRequest, tmp_path: Path
) -> Settings:
    url = request.getfixturevalue("database_url") if postgres is None else postgres.url
    return Settings(home=tmp_path, database_url=url)


def play(url: str, model: str) -> list[Any]:
    """Play sessions to their ends; return what each charged and came to."""
    found = []
    with Client(url, retries=20, first_wait_s=0.1) as client:
        for number in range(N_SESSIONS):
            session = client.predict(model, budget=N_PAID, seed=number)
            for feature in range(N_PAID):
                session.answer(f"f{feature}", feature)
            session.stop()
            found.append((session.spent, session.raw["version"], len(session.ledger())))
    return found


def disturb(postgres: OwnPostgres | None, url: str) -> None:
    """Crash the server, or hold SQLite's lock for seconds, as charges are written."""
    for share in SHARES:
        wait(lambda share=share: n_charges(url) >= share * N_CHARGES, 120)
        if postgres is not None:
            postgres.crash()
            continue
        path = url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            threading.Event().wait(3.0)


def n_charges(url: str) -> int:
    engine = create_engine(url)
    try:
        return count_rows(engine)["ledger"]
    finally:
        engine.dispose()


def test_sessions_and_a_training_go_on_when_the_database_comes_back(
    postgres: OwnPostgres | None,
    settings: Settings,
    engine: sa.Engine,
    server: Server,
    jobs: Jobs,
    launch: Launch,
) -> None:
    launch(max_attempts=100)
    with Client(server.url) as client:
        raw = model_json(many(N_FEATURES), "many")
        model = client.connection.link.http.post("/models", json=raw).json()["id"]
    training = jobs.start(TABLE, SPEC)
    wait(lambda: jobs.get(training.id).share > 0)
    engine.dispose()

    with ThreadPoolExecutor(N_CALLERS + 1) as pool:
        disturbing = pool.submit(disturb, postgres, settings.url)
        playing = [pool.submit(play, server.url, model) for _ in range(N_CALLERS)]
        found = [task.result() for task in playing]
        disturbing.result()

    engine.dispose()
    wait(lambda: jobs.get(training.id).state == "succeeded", 90)
    assert jobs.document(training.id) == undisturbed(TABLE, SPEC)
    assert found == [[(N_PAID, N_PAID + 2, N_PAID)] * N_SESSIONS] * N_CALLERS
    assert violations(engine) == []
    assert count_rows(engine)["ledger"] == N_CHARGES
