"""Models that are imported over HTTP: what is taken, and what is refused."""

import json
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.documents.files import model_text
from askless.app.service.loaded import LoadedModels
from askless.app.store.database.tables import datasets as dataset_rows
from askless.core.model.model import Model
from tests.app.clinic import (
    Answer,
    Json,
    Put,
    Start,
    clinic,
    many,
    model_json,
)
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]


only_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


def test_an_export_is_the_very_file_that_was_imported(client: TestClient) -> None:
    text = model_text(Model("clinic", clinic(), "disease"))
    headers = {"Content-Type": "application/json"}

    made = client.post("/models?as_version=true", content=text, headers=headers)
    exported = client.get(made.headers["location"] + "/export")

    assert made.status_code == 201
    assert exported.content == text.encode()


class WritingModels(LoadedModels):
    """During whose parsing somebody else writes to the database."""

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__()
        self.engine = engine
        self.n_parsed = 0

    def keep(self, model_id: str, document: str) -> Model:
        with transaction(self.engine) as db:
            db.execute(sa.delete(dataset_rows))
        self.n_parsed += 1
        return super().keep(model_id, document)


def test_models_are_parsed_while_others_may_write(
    app: FastAPI, client: TestClient, start: Start, answer: Answer, engine: sa.Engine
) -> None:
    def forget() -> WritingModels:
        app.state.loaded = WritingModels(engine)
        return app.state.loaded

    start(60.0)
    loaded = forget()
    session = start(60.0, model="clinic")
    assert loaded.n_parsed == 1

    for send in (
        lambda: answer(session, ("age", 63)),
        lambda: client.post(f"/predict/{session['id']}/stop"),
    ):
        loaded = forget()
        assert send().status_code == 200
        assert loaded.n_parsed == 1


def test_the_model_used_longest_ago_is_dropped(put: Put, engine: sa.Engine) -> None:
    first, second, third = (put(many(1), name) for name in "abc")
    loaded = LoadedModels(most=2)

    with transaction(engine, is_read=True) as db:
        for model_id in (first, second, first, third):
            loaded.get(db, model_id)

    assert [model_id for model_id, _ in loaded.models] == [first, third]


def broken(path: tuple[Any, ...], value: Any) -> Json:
    raw = model_json(clinic(), "clinic")
    place: Any = raw
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return raw


@only_sqlite
def test_a_wrong_model_is_refused_and_not_stored(client: TestClient) -> None:
    for path, value, field in (
        (("name",), "", "model.name"),
        (("name",), "SECRET" * 50, "model.name"),
        (("name",), "SECRET\x00", "model.name"),
        (("cost_unit",), "SECRET" * 50, "model.cost_unit"),
        (("features", 0, "name"), "SECRET" * 50, "model.features[0].name"),
        (("features", 0, "cost_micros"), 2**61, "model.features"),
        (("hypotheses", 0, "feature"), 99, "model.hypotheses[0].feature"),
        (("hypotheses", 0, "cut"), "SECRET", "model.hypotheses[0].cut"),
    ):
        response = client.post("/models", json=broken(path, value))

        assert response.status_code == 422, path
        assert response.json()["errors"][0]["field"] == field
        assert "SECRET" not in response.text
    assert client.get("/models").json()["items"] == []


@only_sqlite
def test_what_is_no_json_of_a_model_is_refused(client: TestClient) -> None:
    headers = {"Content-Type": "application/json"}
    half_a_character = json.dumps(broken(("card",), {"note": "\ud800"})).encode()
    numbers = (b"NaN", b"1e400", b"-Infinity", b"9" * 5000)
    cards = [b'{"card": ' + number + b"}" for number in numbers]

    for body in (
        *(b"", b"{", b"[]", b"3", b"{}", b'"text"', b"{nope", b"\xff"),
        *(b"[" * 1000, b"[" * 100_000, b'{"a": ' + b"[" * 100_000),
        *(half_a_character, *cards),
    ):
        response = client.post("/models", content=body, headers=headers)

        assert response.status_code == 422, body[:20]
        assert response.headers["content-type"] == "application/problem+json"
    assert client.get("/models").json()["items"] == []


@only_sqlite
def test_a_model_without_a_single_stump_predicts_the_majority(
    put: Put, start: Start
) -> None:
    empty = replace(clinic(), hypotheses=(), alphas=(), priors=(0.25, 0.75))

    session = start(5.0, model=put(empty))

    assert (session["question"], session["stop_reason"]) == (None, "all_known")
    assert session["prediction"]["label"] == "1"


def test_an_import_takes_over_no_name_silently(client: TestClient) -> None:
    raw = model_json(clinic(), "clinic")

    first = client.post("/models", json=raw)
    refused = client.post("/models", json=raw)
    second = client.post("/models?as_version=true", json=raw)

    assert first.status_code == 201
    assert refused.status_code == 409
    assert refused.json()["type"] == "/problems/name-taken"
    assert second.json()["version"] == 2
    client.delete(f"/models/{first.json()['id']}")
    client.delete(f"/models/{second.json()['id']}")
    assert client.post("/models", json=raw).json()["version"] == 3


def test_model_is_read_outside_of_the_service_and_within_its_memory(
    client: TestClient,
) -> None:
    """What takes far more memory than its size is refused, and the service lives."""
    limits = client.app.state.reader.limits  # type: ignore[attr-defined]  # of Starlette
    small = replace(limits, memory_bytes=100_000_000)
    client.app.state.reader = replace(client.app.state.reader, limits=small)  # type: ignore[attr-defined]
    nested = b'{"format": "askless-model", "a": [' + b"[{}]," * 3_000_000 + b"1]}"
    headers = {"content-type": "application/json"}
    refused = client.post("/models", content=nested, headers=headers)

    assert refused.status_code == 422
    told = refused.json()["errors"][0]
    assert (told["field"], "MB of memory" in told["rule"]) == ("model", True)
    assert client.get("/livez").status_code == 200


def test_larger_model_than_any_is_refused_by_its_length(client: TestClient) -> None:
    headers = {"content-type": "application/json", "content-length": "32000001"}
    refused = client.post("/models", content=b"{", headers=headers)

    assert refused.status_code == 413
