"""A POST with an idempotency key is done once and answered as often as it is sent."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import event

from askless import Client
from askless.app.errors import ReplayedError
from askless.app.records import DEFAULT_TENANT, StoredAnswer
from askless.app.service import keys, retries
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import transaction
from askless.app.store.retries import idempotency_keys, lock
from askless.app.worker.errands import Errands
from tests.app.clinic import Answer, Json, Put, Start, clinic, form, model_json, said
from tests.app.jobs import Jobs
from tests.applications import openapi_document

pytest_plugins = ["tests.app.conftest_http"]

KEY = {"Idempotency-Key": "k-1"}
# What changes nothing takes no notice of a key.
UNCHANGING = {"/predict/{id}/answers/check"}
# These need models of their own: test_http_learning.py and test_challenges.py; this one
# a vendor: buying/test_providers_tried.py.
TRIED_ELSEWHERE = {
    *("/models/{id}/learn", "/models/{id}/refresh"),
    *("/providers/{name}/test", "/calls/{id}/settle"),
}


def stored(engine: sa.Engine) -> list[Any]:
    with transaction(engine, None, is_read=True) as db:
        return list(db.execute(sa.select(idempotency_keys)).all())


@pytest.fixture
def posts(
    client: TestClient, start: Start, table: bytes, spec: Json
) -> dict[str, tuple[str, Json]]:
    """A call of each POST that there is: its address, and what is sent."""
    session, open_one = start(60.0), start(60.0, model="clinic")
    answers = {"answers": [said("age", 63)]}
    client.post(f"/predict/{open_one['id']}/answers", json=answers)
    charge = client.get("/ledger").json()["items"][0]["id"]
    training = client.post("/train", **form(table, spec)).json()["id"]
    path = f"/predict/{session['id']}"
    model, whole = session["model"]["id"], "age,sex,chol,fbs,ecg,echo1,echo2,disease\n"
    rows = whole.encode() + b"50,male,200,true,1,1,1,1\n60,female,250,false,1,1,1,0\n"
    order = {
        "files": {"dataset": ("t.csv", rows)},
        "data": {"order": json.dumps({"budgets": [9]})},
    }
    job = client.post(f"/models/{model}/predict", **order)
    assert job.status_code == 202, job.text
    return {
        "/models/{id}/predict": (f"/models/{model}/predict", order),
        "/models/{id}/evaluate": (
            f"/models/{model}/evaluate",
            order | {"data": {"order": json.dumps({"budgets": [9]})}},
        ),
        "/jobs/{id}/cancel": (f"/jobs/{job.json()['id']}/cancel", {}),
        "/datasets": ("/datasets", form(table)),
        "/train": ("/train", form(table, spec)),
        "/train/{id}/cancel": (f"/train/{training}/cancel", {}),
        "/models": (
            "/models?as_version=true",
            {"json": model_json(clinic(), "clinic")},
        ),
        "/predict": ("/predict", {"json": {"model": "clinic", "budget": 9}}),
        "/predict/{id}/answers": (f"{path}/answers", {"json": answers}),
        "/predict/{id}/stop": (f"{path}/stop", {}),
        "/ledger/{id}/reverse": (
            f"/ledger/{charge}/reverse",
            {"json": {"reason": "x"}},
        ),
        "/keys": ("/keys", {"json": {"name": "k", "scopes": ["predict:read"]}}),
    }


def test_each_post_is_done_once_and_answered_again(
    client: TestClient,
    engine: sa.Engine,
    posts: dict[str, tuple[str, Json]],
) -> None:
    paths = openapi_document()["paths"]
    found = {path for path in paths if "post" in paths[path]}
    assert found - UNCHANGING - TRIED_ELSEWHERE == set(posts)

    for number, (path, more) in enumerate(posts.values()):
        key = {"Idempotency-Key": f"k-{number}"}
        first = client.post(path, headers=key, **more)
        again = client.post(path, headers=key, **more)
        other = client.post(f"{path}?x=1", headers=key, **more)

        assert first.is_success, (path, first.text)
        assert "idempotent-replayed" not in first.headers
        assert again.headers["idempotent-replayed"] == "true"
        assert again.status_code == first.status_code
        for name in ("location", "etag", "content-type"):
            assert again.headers.get(name) == first.headers.get(name), (path, name)
        told, said_again = first.json(), again.json()
        if path == "/keys":
            assert told.pop("token").startswith("askl_")
            assert said_again.pop("token") is None
        assert said_again == told
        assert other.status_code == 422, path
        assert other.json()["type"] == "/problems/idempotency-mismatch"
    assert len(stored(engine)) == len(posts)
    assert not any(b"askl_" in stored_row.body for stored_row in stored(engine))


def test_another_table_under_the_same_key_is_refused(
    client: TestClient, table: bytes, spec: Json
) -> None:
    first = client.post("/train", headers=KEY, **form(table, spec))
    more = client.post("/train", headers=KEY, **form(table + b"9,9,1\n", spec))
    another = client.post("/train", headers=KEY, **form(table, spec | {"seed": 9}))

    assert first.status_code == 202
    assert [more.status_code, another.status_code] == [422, 422]
    assert len(client.get("/datasets").json()["items"]) == 1


def test_a_repeated_order_needs_its_dataset_no_more(
    client: TestClient, table: bytes, spec: Json
) -> None:
    dataset = client.post("/datasets", **form(table)).json()["id"]
    body = spec | {"dataset_id": dataset}
    first = client.post("/train", headers=KEY, json=body).json()
    client.post(f"/train/{first['id']}/cancel")
    assert client.delete(f"/datasets/{dataset}").status_code == 204

    again = client.post("/train", headers=KEY, json=body)

    assert again.json() == first


def test_what_failed_may_be_tried_again_under_its_key(
    client: TestClient, engine: sa.Engine, start: Start, answer: Answer
) -> None:
    session = start(1.0)
    failed = answer(session, ("chol", 233), headers=KEY)
    assert (failed.status_code, stored(engine)) == (409, [])
    client.patch(f"/predict/{session['id']}", json={"budget": 60})

    taken = answer(session, ("chol", 233), headers=KEY)

    assert taken.status_code == 200
    assert "idempotent-replayed" not in taken.headers


def test_a_key_means_nothing_to_other_methods(
    client: TestClient, engine: sa.Engine, start: Start
) -> None:
    path = f"/predict/{start(1.0)['id']}"

    spent = [
        client.patch(path, json={"budget": budget}, headers=KEY).json()["budget"]
        for budget in (2, 3)
    ]

    assert [limit_kept["limit"] for limit_kept in spent] == [2.0, 3.0]
    assert stored(engine) == []


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_a_request_that_is_being_answered_is_409(
    engine: sa.Engine, start: Start, answer: Answer
) -> None:
    session = start(60.0)
    with transaction(engine, DEFAULT_TENANT) as db:
        assert lock(db, KEY["Idempotency-Key"])
        refused = answer(session, ("age", 63), headers=KEY)
    taken = answer(session, ("age", 63), headers=KEY)

    assert refused.status_code == 409
    assert refused.json()["type"] == "/problems/idempotency-in-progress"
    assert refused.headers["retry-after"] == "1"
    assert taken.status_code == 200


def test_of_requests_at_once_one_is_done(client: TestClient, put: Put) -> None:
    body = {"model": put(), "budget": 9}

    def send(_: int) -> httpx.Response:
        return client.post("/predict", json=body, headers=KEY)

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(send, range(12)))

    made = {answer.json()["id"] for answer in answers if answer.status_code == 201}
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len(made) == len(client.get("/predict").json()["items"]) == 1


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("k1", '"k1"', True),
        (r'"a\"b\\"', 'a"b\\', True),
        ("k1", '"k2"', False),
        ('"k1', "k1", False),
        (r'"k\1"', "k1", False),
    ],
)
def test_a_key_in_quotes_is_the_same_key(
    client: TestClient, put: Put, first: str, second: str, is_same: bool
) -> None:
    body = {"model": put(), "budget": 1}

    made = [
        client.post("/predict", json=body, headers={"Idempotency-Key": key}).json()[
            "id"
        ]
        for key in (first, second)
    ]

    assert (made[0] == made[1]) is is_same


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_key_that_is_none_is_refused_by_its_name(client: TestClient) -> None:
    for key in ("", '""', "x" * 256, "\xe4", "a\tb"):
        headers = {"Idempotency-Key": key.encode("latin-1")}

        refused = client.post("/predict", json={"model": "m"}, headers=headers)

        assert refused.status_code == 422
        fields = [error["field"] for error in refused.json()["errors"]]
        assert fields == ["Idempotency-Key"]


def test_an_erased_session_leaves_no_answers(
    client: TestClient, engine: sa.Engine, start: Start, answer: Answer
) -> None:
    other = start(60.0)
    body = {"model": "clinic", "budget": 60, "known": {"age": 63.125}}
    session = client.post("/predict", json=body, headers=KEY).json()
    for number, one in enumerate((session, other)):
        answer(one, ("chol", 63.125), headers={"Idempotency-Key": f"a-{number}"})
    assert len(stored(engine)) == 3

    client.delete(f"/predict/{session['id']}")

    assert [stored_row.session_id for stored_row in stored(engine)] == [other["id"]]


def test_a_tenants_keys_are_its_own(engine: sa.Engine) -> None:
    now = datetime.now(UTC)
    with transaction(engine, None) as db:
        other = keys.get_or_create_tenant(db, "other", now)
    made = StoredAnswer("k", "d", 200, {}, b"{}", now)
    with transaction(engine, DEFAULT_TENANT) as db:
        retries.store_answer(db, made)

    with transaction(engine, other) as db:
        retries.claim_request(db, "k", "another")
    for act in (
        lambda db: retries.claim_request(db, "k", "d"),
        lambda db: retries.store_answer(db, made),
    ):
        with pytest.raises(ReplayedError), transaction(engine, DEFAULT_TENANT) as db:
            act(db)


def test_answers_are_forgotten_once_nobody_asks_again(
    engine: sa.Engine, jobs: Jobs, settings: Settings
) -> None:
    now = datetime.now(UTC)
    with transaction(engine, DEFAULT_TENANT) as db:
        for key, age_h in (("old", 25), ("new", 23)):
            at = now - timedelta(hours=age_h)
            retries.store_answer(db, StoredAnswer(key, "d", 200, {}, b"{}", at))

    Errands(engine, jobs.blobs, settings).delete_old_answers()

    assert [stored_row.key for stored_row in stored(engine)] == ["new"]


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_request_without_a_key_asks_for_no_answer(
    app: FastAPI, start: Start, answer: Answer
) -> None:
    session, sent = start(60.0), []

    def note(*args: Any) -> None:
        sent.append(args[2])

    event.listen(app.state.engine, "before_cursor_execute", note)
    answer(session, ("age", 63))
    event.remove(app.state.engine, "before_cursor_execute", note)

    assert sent
    assert not any("idempotency_keys" in one for one in sent)


class Dropping(httpx.BaseTransport):
    """Loses the first answer to each request with a key, after all of it was done."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.seen: set[str] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        got = self.client.request(
            request.method,
            request.url.raw_path.decode(),
            content=request.read(),
            headers=dict(request.headers),
        )
        key = request.headers.get("Idempotency-Key", "")
        if key and key not in self.seen:
            self.seen.add(key)
            raise httpx.ReadError("the connection broke")
        return httpx.Response(got.status_code, headers=got.headers, content=got.content)


@pytest.fixture
def caller(client: TestClient) -> Iterator[Client]:
    """A client of Askless that gets no first answer to any POST."""
    lossy = Dropping(client)
    with Client("http://127.0.0.1", transport=lossy, first_wait_s=0.0) as made:
        yield made


def test_a_client_whose_connections_break_does_everything_once(
    caller: Client, client: TestClient, tmp_path: Any, table: bytes, spec: Json
) -> None:
    (tmp_path / "t.csv").write_bytes(table)
    (tmp_path / "m.json").write_text(json.dumps(model_json(clinic(), "clinic")))

    caller.start_training(tmp_path / "t.csv", spec)
    model = caller.import_model(tmp_path / "m.json")
    session = caller.predict(model, budget=60)
    session.answer("chol", 233)

    def count(path: str) -> int:
        return len(client.get(path).json()["items"])

    assert [count(f"/{name}") for name in ("datasets", "train", "models")] == [1, 1, 1]
    assert [count("/predict"), count("/ledger")] == [1, 1]
    assert session.spent == 7.27
