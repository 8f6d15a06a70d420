"""Limits of keys: rows, columns, bytes, rounds, trainings and sessions."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.documents.http.sessions import PredictRequest
from askless.app.records import DEFAULT_TENANT, Caller, Limits, Moment
from askless.app.service import sessions
from askless.app.service.loaded import LoadedModels
from askless.app.store.database.engine import transaction
from tests.app.clinic import Make, MakeApp, clinic, form, model_json

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]


@pytest.fixture
def app(make_app: MakeApp) -> FastAPI:
    """Served beyond loopback: keys are asked for."""
    return make_app(is_local=False)


def test_a_table_has_at_most_a_keys_rows_and_columns(
    client: TestClient, key: Make, table: bytes
) -> None:
    headers = key(limits={"rows": 39, "columns": 2})

    asked = client.post("/datasets", headers=headers, **form(table))

    assert asked.status_code == 422
    assert [error["field"] for error in asked.json()["errors"]] == ["table", "table"]
    assert client.get("/datasets", headers=headers).json()["items"] == []


def test_datasets_together_have_at_most_a_keys_bytes(
    client: TestClient, key: Make, table: bytes
) -> None:
    headers = key(limits={"dataset_bytes": 2 * len(table)})

    asked = [client.post("/datasets", headers=headers, **form(table)) for _ in "abc"]

    assert [response.status_code for response in asked] == [201, 201, 409]
    assert asked[-1].json()["type"] == "/problems/limit-reached"
    assert "dataset_bytes" in asked[-1].json()["detail"]
    assert client.post("/datasets", headers=key(), **form(table)).status_code == 201


@pytest.mark.parametrize("params", [{"rounds": 10}, {"rounds": "auto"}, {}])
def test_a_spec_asks_for_at_most_a_keys_rounds(
    client: TestClient, key: Make, table: bytes, params: dict[str, Any]
) -> None:
    headers = key(limits={"rounds": 9})
    spec = {"target": "disease", "algorithm": "adaboost_bt_smoothed", "params": params}

    asked = client.post("/train", headers=headers, **form(table, spec))

    assert asked.status_code == 422
    assert asked.json()["errors"][0]["field"] == "params.rounds"
    assert client.get("/datasets", headers=headers).json()["items"] == []


def test_at_most_a_keys_trainings_are_in_progress(
    client: TestClient, key: Make, table: bytes, spec: dict[str, Any]
) -> None:
    headers = key(limits={"trainings": 1})

    first = client.post("/train", headers=headers, **form(table, spec))
    second = client.post("/train", headers=headers, **form(table, spec))
    client.post(f"/train/{first.json()['id']}/cancel", headers=headers)
    third = client.post("/train", headers=headers, **form(table, spec))

    assert [response.status_code for response in (first, second, third)] == [
        202,
        409,
        202,
    ]


def test_at_most_a_keys_sessions_are_open(client: TestClient, key: Make) -> None:
    headers = key(limits={"sessions": 2})
    model = model_json(clinic(), "clinic")
    client.post("/models", headers=headers, json=model)

    def start() -> Any:
        body = {"model": "clinic", "budget": 9}
        return client.post("/predict", headers=headers, json=body)

    first, second, third = start(), start(), start()
    client.post(f"/predict/{first.json()['id']}/stop", headers=headers)
    fourth = start()

    found = [response.status_code for response in (first, second, third, fourth)]
    assert found == [201, 201, 409, 201]


def test_sessions_that_expired_are_not_open(
    app: FastAPI, client: TestClient, key: Make
) -> None:
    headers = key(limits={"sessions": 2})
    client.post("/models", headers=headers, json=model_json(clinic(), "clinic"))
    now = datetime.now(UTC)

    def start(days: float, *answers: dict[str, Any]) -> int:
        app.state.clock = lambda: now + timedelta(days=days)
        body = {"model": "clinic", "budget": 9}
        made = client.post("/predict", headers=headers, json=body)
        path = f"/predict/{made.json().get('id')}/answers"
        for answer in answers:
            given = client.post(path, headers=headers, json={"answers": [answer]})
            assert given.status_code == 200
        return made.status_code

    # The first one waits, once it has expired, for 90 days.
    found = [start(0, {"feature": "age", "outcome": "ordered"})]
    found += [start(days) for days in (0, 1, 8, 8, 98, 98, 98)]

    assert found == [201, 201, 409, 201, 409, 201, 201, 409]


def test_sessions_started_at_once_pass_no_limit_together(
    client: TestClient, engine: sa.Engine, key: Make
) -> None:
    key_id = key()["X-Key"]
    caller = Caller(DEFAULT_TENANT, key_id, frozenset(), Limits(sessions=1))
    client.post("/models", headers=key(), json=model_json(clinic(), "clinic"))
    wanted = PredictRequest(model="clinic", budget=None)
    at, loaded = Moment(datetime.now(UTC), *[timedelta(1)] * 2), LoadedModels()
    is_over = Event()

    def start(wait_s: float) -> None:
        with transaction(engine, DEFAULT_TENANT, caller=caller) as db:
            sessions.start(db, loaded, wanted, at)
            is_over.wait(wait_s)
        is_over.set()

    with ThreadPoolExecutor(2) as pool:
        started = [pool.submit(start, 0.3) for _ in "ab"]

    assert sorted(type(attempt.exception()).__name__ for attempt in started) == [
        "LimitError",
        "NoneType",
    ]


def test_a_key_has_so_many_streams_open(
    app: FastAPI,
    client: TestClient,
    key: Make,
    table: bytes,
    spec: dict[str, Any],
) -> None:
    headers, guard = key(limits={"streams": 2}), app.state.guard
    started = client.post("/train", headers=headers, **form(table, spec)).json()
    client.post(f"/train/{started['id']}/cancel", headers=headers)
    path, key_id = f"/train/{started['id']}/events", headers["X-Key"]

    guard.n_streams[key_id] = 1
    open_one = client.get(path, headers=headers)
    counted = dict(guard.n_streams)
    guard.n_streams[key_id] = 2
    refused = client.get(path, headers=headers)

    assert "event: cancelled" in open_one.text
    assert counted == {key_id: 1}
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
    assert "2 event streams" in refused.json()["detail"]
    assert client.get(path, headers=key()).status_code == 200
