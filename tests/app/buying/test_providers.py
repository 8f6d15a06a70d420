"""Providers over HTTP: put, shown, listed, deleted; what can't be called is refused."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.records import StoredCall
from askless.app.store.buying import calls, providers
from tests.app.clinic import MakeApp, Put
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]

SECRET = "s3cret-of-the-vendor"
NOW = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
ECHO: dict[str, Any] = {
    "fills": "echo",
    "request": {
        "method": "POST",
        "url": "http://127.0.0.1:9000/v2/{key.domain}",
        "headers": {"Authorization": "Bearer {secret.ECHO_KEY}"},
        "json": {"domain": "{key.domain}"},
    },
    "read": {"echo1": "a.b", "echo2": "a.c"},
    "price": 0.05,
    "ceilings": {"day": 25.0},
}


@pytest.fixture
def app(make_app: MakeApp, tmp_path: Path) -> FastAPI:
    (tmp_path / "ECHO_KEY").write_text(f"{SECRET}\n")
    hosts = ["api.example", "127.0.0.1:9000"]
    made = make_app(is_local=True, provider_hosts=hosts, secrets=tmp_path)
    made.state.clock = lambda: NOW
    return made


def with_url(url: str) -> dict[str, Any]:
    return ECHO | {"request": ECHO["request"] | {"url": url}}


def refusals(response: Any) -> dict[str, str]:
    assert response.status_code == 422, response.text
    return {error["field"]: error["rule"] for error in response.json()["errors"]}


def test_a_provider_is_shown_as_it_was_put(client: TestClient, put: Put) -> None:
    put()

    made = client.put("/providers/echo", json=ECHO)
    again = client.put("/providers/echo", json=ECHO)
    shown = client.get("/providers/echo")

    assert (made.status_code, again.status_code) == (201, 200)
    assert made.headers["location"] == "/providers/echo"
    assert made.json()["warnings"] == []
    state = {"cools_until": None, "spent": 0.0, "held": 0.0}
    at = "2026-11-28T09:00:00Z"
    times = {"created_at": at, "updated_at": at}
    assert shown.json() == ECHO | {"name": "echo"} | state | times
    assert client.get("/providers").json()["items"] == [shown.json()]


def test_a_secrets_value_is_in_no_answer(client: TestClient) -> None:
    texts = [
        client.put("/providers/echo", json=ECHO).text,
        client.get("/providers/echo").text,
        client.get("/providers").text,
    ]

    assert SECRET not in "".join(texts)
    assert all("{secret.ECHO_KEY}" in text for text in texts)


def test_what_it_has_cost_today_stands_beside_it(
    client: TestClient, engine: sa.Engine
) -> None:
    client.put("/providers/echo", json=ECHO)
    with transaction(engine) as db:
        for day, held, charged in (("2026-11-27", 7, 7), ("2026-11-28", 50_000, 0)):
            providers.reserve(db, "echo", day, held + 25_000, None)
            providers.settle(db, "echo", day, 25_000, charged)

    shown = client.get("/providers/echo").json()

    assert (shown["held"], shown["spent"]) == (0.05, 0.0)
    (listed,) = client.get("/providers").json()["items"]
    assert listed == shown


def test_replacing_one_keeps_its_state_and_forgets_its_answers(
    client: TestClient, engine: sa.Engine, start: Any
) -> None:
    session = start()["id"]
    client.put("/providers/echo", json=ECHO)
    with transaction(engine) as db:
        stored = providers.get_locked(db, "echo")
        providers.change(db, stored.id, cools_until=NOW, failures=3)
        providers.keep_answer(db, "echo", "d", session, {"echo1": 1}, NOW)

    changed = client.put("/providers/echo", json=ECHO | {"read": {"echo1": "a"}})

    assert changed.status_code == 200
    assert changed.json()["cools_until"] == "2026-11-28T09:00:00Z"
    with transaction(engine) as db:
        assert providers.get(db, "echo").failures == 3
        assert providers.find_cached(db, "echo", "d", NOW) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://other.example/v2",
        "https://api.example:8443/v2",
        "https://api.example.evil.example/v2",
        "http://127.0.0.1:9001/",
        "http://127.0.0.1/",
        "http://169.254.169.254/latest",
    ],
)
def test_a_host_that_is_not_listed_is_refused(client: TestClient, url: str) -> None:
    response = client.put("/providers/echo", json=with_url(url))

    assert "ASKLESS_PROVIDER_HOSTS" in refusals(response)["request.url"]
    assert client.get("/providers/echo").status_code == 404


@pytest.mark.parametrize(
    "url", ["https://API.example/x", "http://api.example/", "https://api.example:443/"]
)
def test_a_listed_host_has_its_usual_port(client: TestClient, url: str) -> None:
    assert client.put("/providers/echo", json=with_url(url)).status_code == 201


def test_a_missing_secret_is_named(client: TestClient, tmp_path: Path) -> None:
    request = ECHO["request"] | {"headers": {"X-Key": "{secret.FIRMO_KEY}"}}

    missing = client.put("/providers/echo", json=ECHO | {"request": request})
    (tmp_path / "FIRMO_KEY").write_text("\n")
    empty = client.put("/providers/echo", json=ECHO | {"request": request})

    for response in (missing, empty):
        assert "there is no secret FIRMO_KEY" in refusals(response)["request"]
        assert str(tmp_path) not in response.text


def test_without_settings_nothing_can_be_called(make_app: MakeApp) -> None:
    bare_app = make_app(is_local=True, secrets=None, provider_hosts=[])
    with TestClient(bare_app, base_url="http://127.0.0.1") as bare:
        rules = refusals(bare.put("/providers/echo", json=ECHO))

    assert set(rules) == {"request.url", "request"}
    assert "ASKLESS_SECRETS is not set" in rules["request"]


@pytest.mark.parametrize(
    ("place", "value", "field"),
    [
        ("price", -1, "price"),
        ("price", "free", "price"),
        ("read", {}, "read"),
        ("read", {"echo1": "a["}, "read.echo1"),
        ("timeout_s", 0, "timeout_s"),
        ("colour", "red", "colour"),
        ("fills", "", "fills"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_field(
    client: TestClient, place: str, value: object, field: str
) -> None:
    response = client.put("/providers/echo", json=ECHO | {place: value})

    assert field in refusals(response)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("json", "NaN"),
        ("json", '{"a": 1e999}'),
        ("json", '"\\ud800"'),
        ("json", '{"\\ud800": 1}'),
        ("json", '["\\u0000"]'),
        ("json", "[" * 33 + "]" * 33),
        ("json", "[" * 900 + "]" * 900),
        ("headers", '{"X": "a\\r\\nb: c"}'),
        ("headers", '{"X": "\u00e9"}'),
        ("url", '"http://127.0.0.1\\t:9000/"'),
        ("url", '"ht\\ntp://127.0.0.1:9000/"'),
        ("url", '"http://127.0.0.1:9000/a b"'),
        ("url", '"http://127.0.0.1:9000/\u00e9"'),
        ("query", '{"a": "\\u0000"}'),
    ],
)
def test_what_no_request_can_hold_is_refused(
    client: TestClient, place: str, text: str
) -> None:
    document = ECHO | {"request": ECHO["request"] | {place: "HERE"}}
    body = json.dumps(document).replace('"HERE"', text)

    response = client.put(
        "/providers/echo", content=body, headers={"Content-Type": "application/json"}
    )

    assert next(iter(refusals(response))).startswith(f"request.{place}"), response.text


def test_a_name_is_of_plain_letters(client: TestClient) -> None:
    for name in ("Echo", "%20", "-a", "a" * 101):
        assert "name" in refusals(client.put(f"/providers/{name}", json=ECHO)), name


def test_what_no_model_uses_is_a_warning(client: TestClient, put: Put) -> None:
    early = client.put("/providers/echo", json=ECHO).json()
    put()
    late = client.put("/providers/echo", json=ECHO).json()
    odd = ECHO | {"read": {"echo1": "a", "age": "b"}}
    misread = client.put("/providers/echo", json=odd).json()
    single = ECHO | {"fills": "age", "read": {"age": "b"}}

    assert early["warnings"] == ["fills: no model has a bundle or feature 'echo' yet"]
    assert late["warnings"] == []
    assert misread["warnings"] == ["read.age: no model has 'age' in 'echo' yet"]
    assert client.put("/providers/age", json=single).json()["warnings"] == []


def test_a_deleted_provider_is_gone(client: TestClient) -> None:
    client.put("/providers/echo", json=ECHO)

    assert client.delete("/providers/echo").status_code == 204
    assert client.delete("/providers/echo").status_code == 404
    assert client.get("/providers").json() == {"items": [], "next": None}


def test_providers_are_paged_newest_first(client: TestClient) -> None:
    for name in ("a", "b", "c"):
        client.put(f"/providers/{name}", json=ECHO)

    first = client.get("/providers?limit=2").json()
    rest = client.get(f"/providers?after={first['next']}").json()

    names = [item["name"] for item in first["items"] + rest["items"]]
    assert sorted(names) == ["a", "b", "c"]
    assert len(first["items"]) == 2


def store_call(engine: sa.Engine, **more: Any) -> str:
    values = {"session_id": None, "provider": "echo", "number": 1, "state": "settled"}
    with transaction(engine) as db:
        call = StoredCall(
            id=calls.make_id(),
            features=("echo1",),
            price=50_000,
            charged=50_000,
            unit="CAD",
            idempotency_key="k" * 64,
            day="2026-11-28",
            created_at=NOW,
            before=[0.5, 0.5],
            **(values | more),
        )
        calls.insert(db, call)
    return call.id


def test_calls_are_listed_and_filtered(
    client: TestClient, engine: sa.Engine, start: Any
) -> None:
    session = start()["id"]
    tested = store_call(engine)
    doubtful = store_call(
        engine, session_id=session, provider="firmo", state="in_doubt"
    )

    def ids(query: str) -> set[str]:
        return {item["id"] for item in client.get(f"/calls{query}").json()["items"]}

    assert ids("") == {tested, doubtful}
    assert ids("?provider=echo") == {tested}
    assert ids(f"?session={session}") == ids("?state=in_doubt") == {doubtful}
    assert ids("?state=released") == set()
    assert client.get("/calls?state=lost").status_code == 422


def test_a_call_shows_neither_keys_nor_chances(
    client: TestClient, engine: sa.Engine
) -> None:
    call = client.get(f"/calls/{store_call(engine)}").json()

    assert call == {
        "id": call["id"],
        "session": None,
        "provider": "echo",
        "number": 1,
        "state": "settled",
        "features": ["echo1"],
        "price": 0.05,
        "charged": 0.05,
        "unit": "CAD",
        "attempts": 0,
        "status": None,
        "reason": None,
        "latency_ms": None,
        "created_at": "2026-11-28T09:00:00Z",
        "sent_at": None,
        "ended_at": None,
    }
