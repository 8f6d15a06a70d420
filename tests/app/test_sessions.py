"""Sessions for days: found again, resumed from what they show, and expired."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.store.database.engine import transaction
from askless.app.store.database.tables import sessions
from tests.app.clinic import Answer, Json, Put, Start, many

pytest_plugins = ["tests.app.conftest_http"]

BEGIN = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)
Wait = Callable[[float], None]


@pytest.fixture
def wait(app: FastAPI) -> Wait:
    """Let days pass since the beginning."""

    def let_pass(days: float) -> None:
        app.state.clock = lambda: BEGIN + timedelta(days=days)

    let_pass(0)
    return let_pass


def listed(client: TestClient, **asked: str | int) -> list[str]:
    return [item["id"] for item in client.get("/predict", params=asked).json()["items"]]


def state_of(client: TestClient, session: Json) -> tuple[str, str | None]:
    shown = client.get(f"/predict/{session['id']}").json()
    (summary,) = client.get("/predict", params={"limit": 1}).json()["items"]
    assert summary["state"] == shown["state"]
    assert summary["version"] == shown["version"]
    return shown["state"], shown["stop_reason"]


def test_a_session_that_waits_expires_too_and_later(
    client: TestClient, start: Start, answer: Answer, wait: Wait
) -> None:
    session = start(60.0)
    answer(session, ("age", "ordered"), ("chol", 233))

    found = [state_of(client, session)]
    for days in (8, 96, 98):
        wait(days)
        found.append(state_of(client, session))
    late = answer(session, ("age", 63))
    after = client.get(f"/predict/{session['id']}").json()

    assert found == [
        ("open", None),
        ("waiting", "expired"),
        ("waiting", "expired"),
        ("closed", "expired"),
    ]
    assert late.json()["type"] == "/problems/session-closed"
    assert after["budget"]["spent"] == 8.27
    assert [answer["outcome"] for answer in after["answers"]] == ["unknown", "value"]


def test_no_version_is_told_of_two_things(
    client: TestClient, start: Start, answer: Answer, wait: Wait
) -> None:
    session = start(60.0)
    answer(session, ("age", "ordered"))
    wait(98)
    expired = client.get(f"/predict/{session['id']}").json()

    path = f"/ledger/{expired['id']}-1/reverse"
    client.post(path, json={"reason": "It was never done."})
    after = client.get(f"/predict/{session['id']}").json()

    assert (expired["state"], expired["version"]) == ("closed", 4)
    assert (after["budget"]["spent"], after["version"]) == (0.0, 5)


def test_a_session_that_expired_is_erased_under_the_version_that_was_seen(
    client: TestClient, start: Start, wait: Wait
) -> None:
    path = f"/predict/{start(60.0)['id']}"
    wait(8)
    seen = client.get(path).headers["etag"]

    erased = client.delete(path, headers={"If-Match": seen})

    assert (seen, erased.status_code) == ('"2"', 204)
    assert client.get(path).headers["etag"] == '"3"'


def test_a_result_that_comes_while_it_is_waited_for_is_taken(
    start: Start, answer: Answer, wait: Wait
) -> None:
    session = start(60.0)
    answer(session, ("age", "ordered"))
    wait(50)

    after = answer(session, ("age", 63)).json()

    assert (after["state"], after["answers"][0]["value"]) == ("closed", 63)


def test_sessions_are_found_by_state_model_and_case(
    client: TestClient, start: Start, answer: Answer, put: Put, wait: Wait
) -> None:
    model = put(many(2), "two")
    old = start(60.0, model=model, client_ref="visit-1")
    wait(0.1)
    ordered = start(60.0, model=model, client_ref="visit-2")
    answer(ordered, ("f0", "ordered"))
    wait(8)
    new = start(60.0, client_ref="visit-1")

    assert listed(client, state="open") == [new["id"]]
    assert listed(client, state="waiting") == [ordered["id"]]
    assert listed(client, state="closed") == [old["id"]]
    assert listed(client, client_ref="visit-1") == [new["id"], old["id"]]
    assert listed(client, model="two", client_ref="visit-1") == [old["id"]]
    assert listed(client, model=model) == [ordered["id"], old["id"]]
    assert client.get("/predict", params={"state": "asleep"}).status_code == 422


def test_pages_of_a_filter_follow_one_another(
    client: TestClient, start: Start, put: Put, wait: Wait
) -> None:
    model = put(many(1), "one")
    for number in range(7):
        wait(number)
        made = start(1.0, model=model)
        if number % 2:
            client.post(f"/predict/{made['id']}/stop")

    first = client.get("/predict", params={"state": "closed", "limit": 2}).json()
    rest = client.get(
        "/predict", params={"state": "closed", "limit": 2, "after": first["next"]}
    ).json()

    assert [len(first["items"]), len(rest["items"])] == [2, 1]
    assert rest["next"] is None


def test_pages_go_on_after_a_row_that_is_gone(
    client: TestClient, start: Start, put: Put, wait: Wait, engine: sa.Engine
) -> None:
    model = put(many(1), "one")
    made = []
    for number in range(4):
        wait(number)
        made.append(start(1.0, model=model)["id"])
    first = client.get("/predict", params={"limit": 2}).json()
    with transaction(engine, None) as db:
        db.execute(sessions.delete().where(sessions.c.id == made[2]))

    assert listed(client, after=first["next"]) == [made[1], made[0]]


def test_what_a_caller_knows_a_case_by_is_shown_and_erased(
    client: TestClient, start: Start, engine: sa.Engine
) -> None:
    session = start(60.0, client_ref="visit-1")
    path = f"/predict/{session['id']}"

    client.delete(path)

    assert session["client_ref"] == "visit-1"
    assert client.get(path).json()["client_ref"] is None
    with transaction(engine, None, is_read=True) as db:
        assert db.scalar(sa.select(sessions.c.client_ref)) is None


def test_a_session_names_the_version_that_it_asks(
    client: TestClient, put: Put, start: Start
) -> None:
    first, second, odd = put(name="one"), put(name="one"), put(name="one@1")

    asked = {
        name: start(60.0, model=name)["model"]["id"]
        for name in ("one", "one@1", "one@2", "one@1@1")
    }
    unknown = [
        client.post("/predict", json={"model": name, "budget": 1}).status_code
        for name in ("one@3", "one@x", "two@1", "one@")
    ]

    assert asked == {"one": second, "one@1": first, "one@2": second, "one@1@1": odd}
    assert unknown == [404] * 4
