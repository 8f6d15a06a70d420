"""Tenants see what is theirs and nothing else: by every route, in every statement."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import event

from askless.app.records import StoredCall
from askless.app.service import keys
from askless.app.store.buying import calls
from askless.app.store.database.engine import transaction
from askless.app.store.schema import all_tables
from tests.app.clinic import MakeApp, clinic, form, model_json, said
from tests.app.jobs import Jobs
from tests.applications import openapi_document

pytest_plugins = ["tests.app.conftest_http"]

PROVIDER: dict[str, Any] = {
    "fills": "age",
    "request": {"url": "https://api.example/ages"},
    "read": {"age": "age"},
}
OWNED = [name for name, table in all_tables().tables.items() if "tenant_id" in table.c]
# Statements on a tenant's tables that are for all tenants, each with its reason.
FOR_ALL = {
    r"SELECT keys\.": "A key says which tenant a request belongs to.",
    r"UPDATE keys SET last_used_at": "It was found by its secret.",
    r"SELECT trainings\.id .*WHERE trainings\.state = ": "The queue is one.",
    r"UPDATE trainings SET .*RETURNING": "A worker claims from the queue.",
    r"SELECT DISTINCT trainings\.tenant_id": "The sweep goes on tenant by tenant.",
    r"SELECT count\(\*\) AS \w+,? .*FROM (trainings|sessions)": "For /metrics.",
    r"SELECT count\(\*\) AS \w+ .*FROM providers": "For /metrics.",
    r"SELECT challenges\.tenant_id": "The worker goes on tenant by tenant.",
    r"SELECT datasets\.blob": "Orphaned uploads belong to nobody.",
}


@pytest.fixture
def app(make_app: MakeApp) -> FastAPI:
    return make_app(is_local=False, provider_hosts=["api.example"])


@pytest.fixture
def headers(engine: sa.Engine) -> list[dict[str, str]]:
    """The keys of two tenants."""
    now, found = datetime.now(UTC), []
    for name in ("one", "other"):
        with transaction(engine, None) as db:
            tenant_id = keys.get_or_create_tenant(db, name, now)
        with transaction(engine, tenant_id) as db:
            token = keys.create(db, keys.Wish("k"), now).token
        found.append({"Authorization": f"Bearer {token}"})
    return found


@pytest.fixture
def statements(app: FastAPI, client: TestClient) -> Iterator[list[str]]:
    """What the application sends to its database."""
    del client  # It has an engine once it is served.
    sent: list[str] = []

    def note(*args: Any) -> None:
        sent.append(" ".join(args[2].split()))

    event.listen(app.state.engine, "before_cursor_execute", note)
    yield sent
    event.remove(app.state.engine, "before_cursor_execute", note)


def store_call(engine: sa.Engine, session: str) -> str:
    """Store a call that a session of the first tenant made; return its id."""
    now = datetime.now(UTC)
    with transaction(engine, None) as db:
        tenant_id = keys.get_or_create_tenant(db, "one", now)
    with transaction(engine, tenant_id) as db:
        call = StoredCall(
            *(calls.make_id(), session, "firmo", 1, "settled", ("age",), 5, 5),
            *("CAD", "k" * 64, "2026-11-28", now),
        )
        calls.insert(db, call)
    return call.id


@pytest.fixture
def things(
    client: TestClient,
    engine: sa.Engine,
    headers: list[dict[str, str]],
    jobs: Jobs,
    table: bytes,
    spec: dict[str, Any],
) -> dict[str, str]:
    """One of everything, of the first tenant; its id by how ids begin."""
    ours = headers[0]
    dataset = client.post("/datasets", headers=ours, **form(table)).json()["id"]
    training = client.post(
        "/train", headers=ours, json={**spec, "dataset_id": dataset}
    ).json()["id"]
    jobs.worker().work()
    model = client.get(f"/train/{training}", headers=ours).json()["model_id"]
    costs = {"costs": {"age": 2, "chol": 3}}
    body = {"model": model, "budget": 60, "prices": costs}
    session = client.post("/predict", headers=ours, json=body).json()["id"]
    answer = {"answers": [{"feature": "age", "outcome": "value", "value": 44}]}
    given = client.post(f"/predict/{session}/answers", headers=ours, json=answer)
    assert given.status_code == 200, given.text
    key = client.get("/keys", headers=ours).json()["items"][0]["id"]
    made = client.put("/providers/firmo", headers=ours, json=PROVIDER)
    assert made.status_code == 201, made.text
    return {
        "datasets": dataset,
        "train": training,
        "models": model,
        "predict": session,
        "providers": "firmo",
        "calls": store_call(engine, session),
        "keys": key,
    }


def routes() -> list[tuple[str, str]]:
    paths = openapi_document()["paths"]
    return [(method.upper(), path) for path in paths for method in paths[path]]


def address_of(path: str, things: dict[str, str]) -> str:
    noun = path.split("/")[1]
    return re.sub(r"\{(id|name)\}", things.get(noun, "none"), path)


def test_another_tenants_ids_are_not_found(
    client: TestClient,
    headers: list[dict[str, str]],
    things: dict[str, str],
) -> None:
    one, other = headers
    bodies: dict[str, Any] = {
        "/predict/{id}/answers": {"answers": []},
        "/predict/{id}": {"budget": 9},
        "/providers/{name}/test": {"keys": {}},
    }
    walked = 0
    for method, path in routes():
        if "{" not in path or path.startswith("/problems"):
            continue
        address, body = address_of(path, things), bodies.get(path, {})
        foreign = client.request(
            method, address, headers=other, json=None if method == "GET" else body
        )
        nothing = client.request(
            method,
            re.sub(r"\{\w+\}", "ses_none", path),
            headers=one,
            json=None if method == "GET" else body,
        )
        assert foreign.status_code == nothing.status_code, (method, path)
        if foreign.status_code != 422:  # The body was looked at first.
            assert foreign.status_code == 404, (method, path, foreign.text)
            walked += 1
    assert walked >= 12
    nouns = ("datasets", "train", "models", "predict", "ledger", "providers", "calls")
    for path in (f"/{noun}" for noun in nouns):
        assert client.get(path, headers=other).json()["items"] == [], path
        assert client.get(path, headers=one).json()["items"] != [], path


def test_another_tenants_things_are_no_help_in_a_body(
    client: TestClient,
    headers: list[dict[str, str]],
    things: dict[str, str],
    spec: dict[str, Any],
) -> None:
    other = headers[1]
    order = {**spec, "dataset_id": things["datasets"]}

    trained = client.post("/train", headers=other, json=order)
    by_id = client.post(
        "/predict", headers=other, json={"model": things["models"], "budget": 1}
    )
    by_name = client.post(
        "/predict", headers=other, json={"model": "heart", "budget": 1}
    )
    pages = [
        client.get(f"/{noun}?after={things[noun]}", headers=other)
        for noun in ("datasets", "train", "models", "predict")
    ]

    assert [trained.status_code, by_id.status_code, by_name.status_code] == [404] * 3
    assert [page.status_code for page in pages] == [422] * 4


def test_tenants_count_versions_of_a_name_by_themselves(
    client: TestClient, headers: list[dict[str, str]]
) -> None:
    model = model_json(clinic(), "clinic")

    versions = [
        client.post("/models?as_version=true", headers=header, json=model).json()[
            "version"
        ]
        for header in (*headers, headers[0])
    ]

    assert versions == [1, 1, 2]


def play(client: TestClient, headers: dict[str, str]) -> tuple[str, list[str]]:
    """Have two answers charged; return the session's id and those of its entries."""
    body = {"model": "clinic", "budget": 60}
    session = client.post("/predict", headers=headers, json=body).json()["id"]
    for given in (said("age", 63), said("chol", 233)):
        answered = client.post(
            f"/predict/{session}/answers", headers=headers, json={"answers": [given]}
        )
        assert answered.status_code == 200, answered.text
    found = client.get(f"/predict/{session}/ledger", headers=headers).json()["items"]
    return session, [entry["id"] for entry in found]


def test_ids_of_charges_count_no_other_tenants(
    client: TestClient, headers: list[dict[str, str]]
) -> None:
    for header in headers:
        client.post("/models", headers=header, json=model_json(clinic(), "clinic"))

    played = [play(client, header) for header in (*headers, headers[0])]
    whole = client.get("/ledger?limit=3", headers=headers[0]).json()
    rest = client.get(f"/ledger?after={whole['next']}", headers=headers[0]).json()
    foreign = client.get(f"/ledger?after={whole['next']}", headers=headers[1])

    assert [ids for _, ids in played] == [[f"{id}-1", f"{id}-2"] for id, _ in played]
    assert [item["id"] for item in whole["items"] + rest["items"]] == [
        *reversed(played[2][1]),
        *reversed(played[0][1]),
    ]
    assert foreign.status_code == 422


def test_every_statement_on_a_tenants_tables_has_a_tenant(
    client: TestClient,
    headers: list[dict[str, str]],
    statements: list[str],
    things: dict[str, str],
) -> None:
    """A walk over every route; the exceptions are named above."""
    for method, path in routes():
        client.request(method, address_of(path, things), headers=headers[0])
    tables = "|".join(OWNED)
    about = re.compile(rf"(FROM|UPDATE|INTO|JOIN) ({tables})\b")

    bare = [
        statement
        for statement in statements
        if about.search(statement)
        and not re.search(r"tenant_id( =|[,)])", statement)
        and not any(re.match(allowed, statement) for allowed in FOR_ALL)
    ]

    assert len(statements) > 50
    assert bare == []


def test_a_transaction_of_no_tenant_sees_nobodys_rows(engine: sa.Engine) -> None:
    from askless.app.store import models

    with (
        pytest.raises(AssertionError, match="no tenant"),
        transaction(engine, None, is_read=True) as db,
    ):
        models.find_head(db, "mdl_1")
