"""An application over a fresh database, as fixtures.

A plugin of the tests that name it: `pytest_plugins = ["tests.app.conftest_http"]`.
"""

import inspect
import os
from collections.abc import Iterator
from itertools import cycle
from json import dumps
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.main import create_app
from askless.app.settings.settings import Settings
from askless.core.model.ensemble import Ensemble
from tests.app.clinic import (
    Answer,
    Json,
    Put,
    Start,
    Train,
    clinic,
    local_client,
    model_json,
    said,
)
from tests.app.jobs import Jobs


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    return create_app(settings, is_local=True)


@pytest.fixture
def client(app: FastAPI, request: pytest.FixtureRequest) -> Iterator[TestClient]:
    """A client of the application; by `make test-replicas` of two, in turns.

    Tests that look into the application have one.
    """
    looks_in = "app" in inspect.signature(request.function).parameters
    with local_client(app, raise_server_exceptions=False) as made:
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
    """Start a session with a clinic's model."""

    def start_session(budget: float | None = None, **more: Any) -> Json:
        if "model" not in more:
            more["model"] = put()
        response = client.post("/predict", json={"budget": budget, **more})
        assert response.status_code == 201, response.text
        made: Json = response.json()
        return made

    return start_session


@pytest.fixture
def train(client: TestClient, jobs: Jobs) -> Train:
    """Upload a table, train on it by a spec and give the model's id."""

    def upload_and_train(table: bytes, spec: Json) -> str:
        form = {"files": {"dataset": ("t.csv", table)}, "data": {"spec": dumps(spec)}}
        started = client.post("/train", **form)
        assert started.status_code == 202, started.text
        jobs.worker().work()
        ended = client.get(f"/train/{started.json()['id']}").json()
        assert ended["state"] == "succeeded", ended
        return str(ended["model_id"])

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
