"""Bad input: each status is a problem document that echoes nothing."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tests.app.clinic import Answer, Json, MakeApp, Put, Start, clinic, model_json

pytest_plugins = ["tests.app.conftest_http"]
pytestmark = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


JSON = {"Content-Type": "application/json"}
SECRET = "SECRET"


def assert_problem(response: Any, status: int, kind: str) -> Json:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert SECRET not in response.text
    problem: Json = response.json()
    assert problem["type"] == f"/problems/{kind}"
    assert problem["status"] == status
    assert problem["request_id"] == response.headers["x-request-id"]
    return problem


def fields(problem: Json) -> list[str]:
    return [error["field"] for error in problem["errors"]]


def refused_fields(response: Any) -> list[str]:
    return fields(assert_problem(response, 422, "invalid-request"))


def test_what_is_not_there_is_404(client: TestClient) -> None:
    for request in (
        "GET /nowhere",
        # What a model was asked for by is told, since it is often a name.
        "GET /models/nobody",
        "GET /models/nobody/curve",
        "GET /models/nobody/plan",
        "GET /models/nobody/export",
        "DELETE /models/nobody",
        "GET /predict/SECRET",
        "GET /predict/SECRET/ledger",
        "POST /predict/SECRET/stop",
        "DELETE /predict/SECRET",
        "GET /problems/SECRET",
        "GET /docs-assets/SECRET",
        "GET /predict/%00",
    ):
        assert_problem(client.request(*request.split()), 404, "not-found")
    unknown_model = client.post("/predict", json={"model": "nobody", "budget": 1})
    assert_problem(unknown_model, 404, "not-found")


def test_another_type_of_body_is_415(client: TestClient) -> None:
    for path in ("/predict", "/predict/x/answers", "/models"):
        for headers in (
            {"Content-Type": "text/plain"},
            {"Content-Type": "text/csv"},
            {},
        ):
            response = client.post(path, content=b"{}", headers=headers)

            assert_problem(response, 415, "unsupported-media-type")


def test_a_wrong_value_is_refused_by_the_name_of_its_feature(
    client: TestClient,
) -> None:
    for name in ("tree", "stump", "age"):
        body = {"model": "m", "budget": 1, "known": {name: []}}

        assert refused_fields(client.post("/predict", json=body)) == [f"known.{name}"]


def chunks(n_bytes: int) -> Iterator[bytes]:
    for _ in range(n_bytes // 1000):
        yield b" " * 1000


def test_a_body_over_its_limit_is_413(client: TestClient, app: FastAPI) -> None:
    size = app.state.settings.max_upload_bytes + 1000
    read = ("/predict", "/predict/x/answers")
    unread = ("/predict/x/stop", "/nowhere")

    for path in (*read, *unread):
        whole = client.post(path, content=b" " * size, headers=JSON)
        chunked = client.post(path, content=chunks(size), headers=JSON)

        assert_problem(whole, 413, "too-large")
        # A body without a stated length is refused only where it is read.
        late = (413, "too-large") if path in read else (404, "not-found")
        assert_problem(chunked, *late)


@pytest.mark.usefixtures("client")
def test_json_to_train_is_not_read_past_its_limit(app: FastAPI) -> None:
    n_read, statuses = 0, []

    async def receive() -> dict[str, Any]:
        nonlocal n_read
        n_read += 1000
        more = n_read < app.state.settings.max_upload_bytes
        return {"type": "http.request", "body": b" " * 1000, "more_body": more}

    async def send(message: Any) -> None:
        statuses.append(message.get("status"))

    path, kind = "/train", [(b"content-type", b"application/json")]
    kind.append((b"host", b"127.0.0.1"))
    scope = {"type": "http", "method": "POST", "path": path, "headers": kind}
    scope |= {"query_string": b"", "raw_path": path.encode(), "root_path": ""}
    asyncio.run(app(scope, receive, send))

    assert statuses[0] == 413
    assert n_read <= app.state.settings.max_body_bytes + 1000


@pytest.fixture
def app(make_app: MakeApp) -> FastAPI:
    return make_app(is_local=True, max_body_bytes=20_000, max_upload_bytes=200_000)


def test_an_upload_may_be_larger_than_other_bodies(client: TestClient) -> None:
    raw = {**model_json(clinic(), "large"), "card": {"note": "x" * 50_000}}

    assert client.post("/models", json=raw).status_code == 201


@pytest.mark.parametrize("sent_as", ["data", "files"])
def test_a_spec_over_the_limit_of_json_is_413(
    client: TestClient, app: FastAPI, sent_as: str
) -> None:
    limit = app.state.settings.max_body_bytes
    parts: Any = {"files": {"dataset": b"a\n1\n"}, "data": {}}
    parts[sent_as]["spec"] = f"{{}}{' ' * limit}"

    response = client.post("/train", **parts)

    problem = assert_problem(response, 413, "too-large")
    assert str(limit) in problem["detail"]


WRONG_STARTS = [
    (b"", "body"),
    (b"{", "body"),
    (b"[]", "body"),
    (b'"SECRET"', "body"),
    (b"\xff", "body"),
    (b'{"budget": ' + b"9" * 5000 + b"}", "body"),
    (b"[" * 9000, "body"),
    (b'{"budget": 1}', "model"),
    (b'{"model": "clinic"}', "budget"),
    (b'{"model": "", "budget": 1}', "model"),
    (b'{"model": "a\\u0000SECRET", "budget": 1}', "model"),
    (b'{"model": "\\ud800", "budget": 1}', "model"),
    (b'{"model": 3, "budget": 1}', "model"),
    (b'{"model": "clinic", "budget": NaN}', "budget"),
    (b'{"model": "clinic", "budget": Infinity}', "budget"),
    (b'{"model": "clinic", "budget": 1e400}', "budget"),
    (b'{"model": "clinic", "budget": -1}', "budget"),
    (b'{"model": "clinic", "budget": true}', "budget"),
    (b'{"model": "clinic", "budget": "SECRET"}', "budget"),
    (b'{"model": "clinic", "budget": 0.1234567}', "budget"),
    (b'{"model": "clinic", "budget": 1e10}', "budget"),
]
# What is said beside a model and a budget that are right.
WRONG_BESIDE = [
    (b'"buget": "SECRET"', "buget"),
    (b'"SECRET\\n": 1', "(a name that is not shown)"),
    (b'"a b' + b"c" * 300 + b'": 1', "(a name that is not shown)"),
    ('"Größe": 1'.encode(), "Größe"),
    (b'"policy": "SECRET"', "policy"),
    (b'"client_ref": "' + b"x" * 201 + b'"', "client_ref"),
    (b'"seed": 1.5', "seed"),
    (b'"seed": true', "seed"),
    (b'"seed": -1', "seed"),
    (b'"seed": 1e400', "seed"),
    (b'"stop": {"confidence": 2}', "stop.confidence"),
    (b'"stop": {"confidence": true}', "stop.confidence"),
    (b'"stop": {"certain": 1}', "stop.certain"),
    (b'"stop": {"max_questions": 1e400}', "stop.max_questions"),
    (b'"known": {"age": NaN}', "known.age"),
    (b'"known": {"age": 1e400}', "known.age"),
    (b'"known": {"age": true}', "known.age"),
    (b'"known": {"age": "SECRET"}', "known.age"),
    (b'"known": {"age": null}', "known.age"),
    (b'"known": {"age": ["SECRET"]}', "known.age"),
    (b'"known": {"fbs": 2}', "known.fbs"),
    (b'"known": {"sex": 1}', "known.sex"),
    (b'"known": {"sex": ""}', "known.sex"),
    (b'"known": {"sex": "\\ud800"}', "known.sex"),
    (b'"known": {"sex": "\\u0000"}', "known.sex"),
    (b'"known": {"nope": 1}', "known.nope"),
]
WRONG_STARTS += [
    (b'{"model": "clinic", "budget": 1, ' + said + b"}", field)
    for said, field in WRONG_BESIDE
]


def test_a_wrong_start_is_refused_with_its_field(client: TestClient, put: Put) -> None:
    put()

    for body, field in WRONG_STARTS:
        response = client.post("/predict", content=body, headers=JSON)

        assert (body, refused_fields(response)) == (body, [field])
    assert client.get("/predict").json()["items"] == []


def test_every_broken_rule_is_told_at_once(client: TestClient, put: Put) -> None:
    put()
    known = {"age": SECRET, "fbs": SECRET, "nope": 1, "chol": 3}

    response = client.post(
        "/predict", json={"model": "clinic", "budget": 1, "known": known}
    )

    assert refused_fields(response) == ["known.age", "known.fbs", "known.nope"]


VALUE = b'{"answers": [{"feature": "%s", "outcome": "value", "value": %s}]}'
WRONG_VALUES = [
    (b"age", b"NaN"),
    (b"age", b"1e400"),
    (b"age", b"9" * 400),
    (b"age", b"true"),
    (b"age", b'"SECRET"'),
    (b"fbs", b"3"),
    (b"sex", b"3"),
]
WRONG_ANSWERS = [
    (b"{}", "answers"),
    (b'{"answers": []}', "answers"),
    (b'{"answers": [3]}', "answers[0]"),
    (b'{"answers": [{"outcome": "value", "value": 1}]}', "answers[0].feature"),
    (b'{"answers": [{"feature": "age"}]}', "answers[0].value"),
    (b'{"answers": [{"feature": "age", "outcome": "SECRET"}]}', "answers[0].outcome"),
    (b'{"answers": [{"feature": "age", "outcome": "value"}]}', "answers[0].value"),
    (
        b'{"answers": [{"feature": "age", "outcome": "refused", "value": 1}]}',
        "answers[0].value",
    ),
    (
        b'{"answers": [{"feature": "nope", "outcome": "value", "value": 1}]}',
        "answers[0].feature",
    ),
    (
        b'{"answers": [{"feature": "age", "outcome": "value", "value": 1},'
        b' {"feature": "age", "outcome": "value", "value": 2}]}',
        "answers[1].feature",
    ),
    (b'{"answers": [{"feature": "age", "outcome": "refused"}], "x": 1}', "x"),
    (
        b'{"answers": [{"feature": "age", "outcome": "value", "value": 63},'
        b' {"feature": "fbs", "outcome": "value", "value": "SECRET"}]}',
        "answers[1].value",
    ),
    *((VALUE % value, "answers[0].value") for value in WRONG_VALUES),
]


def test_a_wrong_answer_is_refused_and_changes_nothing(
    client: TestClient, start: Start
) -> None:
    session = start(60.0)
    path = f"/predict/{session['id']}"

    for body, field in WRONG_ANSWERS:
        response = client.post(f"{path}/answers", content=body, headers=JSON)

        assert (body, refused_fields(response)) == (body, [field])
    assert client.get(path).json() == session
    assert client.get(f"{path}/ledger").json()["items"] == []


def test_a_wrong_page_is_refused(client: TestClient) -> None:
    for path, field in (
        ("/models?limit=0", "limit"),
        ("/models?limit=201", "limit"),
        ("/models?limit=SECRET", "limit"),
        ("/models?after=SECRET", "after"),
        ("/predict?after=SECRET", "after"),
        ("/predict?after=%00", "after"),
        ("/ledger?after=SECRET", "after"),
    ):
        assert (path, refused_fields(client.get(path))) == (path, [field])


def test_a_plan_needs_an_amount(client: TestClient, put: Put) -> None:
    path = f"/models/{put()}/plan?budget="

    for budget in ("SECRET", "NaN", "1e400", "true", "-1", "", "[1]"):
        assert refused_fields(client.get(path + budget)) == ["budget"]


def test_a_request_keeps_the_id_it_came_with_where_it_is_one(
    client: TestClient,
) -> None:
    kept = client.get("/nowhere", headers={"X-Request-ID": "mine-1"})
    replaced = client.get("/nowhere", headers={"X-Request-ID": f"{SECRET} <b>"})

    assert kept.json()["request_id"] == "mine-1"
    assert_problem(replaced, 404, "not-found")


def test_the_log_tells_charges_and_no_value(
    caplog: pytest.LogCaptureFixture, start: Start, answer: Answer
) -> None:
    caplog.set_level(logging.INFO, "askless")
    session = start(60.0)

    answer(session, ("chol", 233.125), ("sex", SECRET), accept_unseen=True)

    lines = [
        record.fields  # type: ignore[attr-defined]
        for record in caplog.records
        if record.getMessage() == "http.request"
    ]
    last = lines[-1]
    assert last["route"] == "/predict/{id}/answers"
    assert (last["session"], last["status"]) == (session["id"], 200)
    assert (last["charged"], last["remaining"]) == (7.77, 52.23)
    assert (last["features"], last["unit"]) == (2, "CAD")
    assert last["model"] == session["model"]["id"]
    assert last["ms"] > 0
    assert "233.125" not in str(lines)
    assert SECRET not in str(lines)


def test_a_failed_answer_is_logged_with_its_session(
    caplog: pytest.LogCaptureFixture, start: Start, answer: Answer
) -> None:
    session = start(1.0)
    caplog.set_level(logging.INFO, "askless")

    answer(session, ("chol", 3))

    line = caplog.records[-1].fields  # type: ignore[attr-defined]
    assert (line["session"], line["status"]) == (session["id"], 409)
    assert "charged" not in line
