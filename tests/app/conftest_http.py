"""An application over a fresh database, as fixtures.

A plugin of the tests that name it: `pytest_plugins = ["tests.app.conftest_http"]`.
"""

import inspect
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from itertools import cycle
from json import dumps
from pathlib import Path
from shutil import copytree
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.main import create_app
from askless.app.settings.settings import Settings
from askless.app.store.database.tables import metadata
from askless.core.model.ensemble import Ensemble
from tests.app.clinic import (
    Answer,
    Json,
    MakeApp,
    Put,
    Start,
    Train,
    clinic,
    local_client,
    model_json,
    said,
)
from tests.app.jobs import Jobs
from tests.kept import DATABASE, Applications

#: Calls a function once a process and key; later copies what it wrote, and returns
#: the same.
Once = Callable[..., str]


class State(NamedTuple):
    """All that tests have written."""

    database: Path
    uploads: Path

    def copy_to(self, other: "State") -> None:
        """Copy the uploads, and a database that others are connected to."""
        with (
            closing(sqlite3.connect(self.database)) as reader,
            closing(sqlite3.connect(other.database)) as writer,
        ):
            reader.backup(writer)
        copytree(self.uploads, other.uploads, dirs_exist_ok=True)


# By key: what was written, and what was returned.
KEPT: dict[tuple[str, ...], tuple[State, str]] = {}
# Tables that have rows in a database without any history.
AT_FIRST = {"tenants", "schema_state"}


@pytest.fixture
def app(make_app: MakeApp) -> FastAPI:
    return make_app(is_local=True)


@pytest.fixture
def client(
    app: FastAPI, applications: Applications, request: pytest.FixtureRequest
) -> Iterator[TestClient]:
    """A client of the application; by `make test-replicas` of two, in turns.

    Tests that look into the application have one.
    """
    looks_in = "app" in inspect.signature(request.function).parameters
    more = {"raise_server_exceptions": False}
    with applications.client(app, "http://127.0.0.1", **more) as made:
        if looks_in or "ASKLESS_TEST_REPLICAS" not in os.environ:
            yield made
            return
        state = app.state
        replica = create_app(state.settings, is_local=state.is_local)
        # What time it is for a test, it is for both.
        replica.state.clock = lambda: state.clock()
        with local_client(replica, raise_server_exceptions=False) as other:
            take_turns(made, other)
            yield made


def take_turns(one: TestClient, other: TestClient) -> None:
    """Let every second request of a client go to another one's application."""
    transports = cycle((other._transport, one._transport))
    one._transport_for_url = lambda _: next(transports)  # type: ignore[method-assign]


@pytest.fixture
def put(client: TestClient) -> Put:
    """Import a model and give its id."""

    def import_model(ensemble: Ensemble | None = None, name: str = "clinic") -> str:
        raw = model_json(ensemble or clinic(), name)
        response = client.post("/models?as_version=true", json=raw)
        assert response.status_code == 201, response.text
        return str(response.json()["id"])

    return import_model


@pytest.fixture
def start(client: TestClient, put: Put) -> Start:
    """Start a session, of a clinic's model unless another is named."""
    put_once = cache(put)

    def start_session(budget: float | None = None, **more: Any) -> Json:
        if "model" not in more:
            more["model"] = put_once()
        response = client.post("/predict", json={"budget": budget, **more})
        assert response.status_code == 201, response.text
        made: Json = response.json()
        return made

    return start_session


@pytest.fixture
def once(
    settings: Settings, engine: sa.Engine, tmp_path_factory: pytest.TempPathFactory
) -> Once:
    def build_once(build: Callable[[], str], *key: str) -> str:
        if engine.dialect.name != "sqlite":
            return build()
        now = State(Path(engine.url.database or ""), settings.home_dir / "uploads")
        if key not in KEPT:
            result, folder = build(), tmp_path_factory.mktemp("kept")
            kept = State(folder / DATABASE, folder / "uploads")
            now.copy_to(kept)
            KEPT[key] = kept, result
        else:
            kept, result = KEPT[key]
            kept.copy_to(now)
        return result

    return build_once


def is_untouched(engine: sa.Engine) -> bool:
    """Whether nothing is in the database but what each new one has."""
    tables = [table for table in metadata.sorted_tables if table.name not in AT_FIRST]
    has_rows = sa.or_(*(sa.exists(sa.select(table)) for table in tables))
    with engine.connect() as connection:
        return not connection.scalar(sa.select(has_rows))


@pytest.fixture
def train(client: TestClient, jobs: Jobs, once: Once) -> Train:
    """Upload a table, train on it by a spec and give the model's id.

    What comes first in a test is trained once a process, and copied from then on.
    """

    def upload_and_train(table: bytes, spec: Json) -> str:
        def build() -> str:
            sent = {"files": {"dataset": ("t.csv", table)}}
            started = client.post("/train", **sent, data={"spec": dumps(spec)})
            assert started.status_code == 202, started.text
            jobs.worker().work()
            ended = client.get(f"/train/{started.json()['id']}").json()
            assert ended["state"] == "succeeded", ended
            return str(ended["model_id"])

        if not is_untouched(jobs.engine):
            return build()
        return once(build, table.decode(), dumps(spec))

    return upload_and_train


@pytest.fixture
def answer(client: TestClient) -> Answer:
    """Send answers given as (feature, outcome or value) and give the response."""

    def send(
        session: Json, *given: tuple[str, Any], headers: Any = None, **flags: bool
    ) -> Any:
        answers = [said(feature, value) for feature, value in given]
        path = f"/predict/{session['id']}/answers"
        return client.post(path, json={"answers": answers} | flags, headers=headers)

    return send
