"""A test of a provider: one call, paid, shown, and no value stored."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.records import StoredCall
from askless.app.store.buying import calls, providers
from askless.app.store.database.tables import metadata
from tests.app.buying.single_vendor import Vendor, serve_vendor
from tests.app.clinic import MakeApp, Put
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]

NOW = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
SECRET = "s3cret-of-the-vendor"
CASE = {"keys": {"domain": "acme.example"}}


@pytest.fixture
def vendor() -> Iterator[Vendor]:
    with serve_vendor() as served:
        yield served


@pytest.fixture
def app(make_app: MakeApp, tmp_path: Path, vendor: Vendor) -> FastAPI:
    (tmp_path / "ECHO_KEY").write_text(f"{SECRET}\n")
    made = make_app(is_local=True, provider_hosts=[vendor.host], secrets=tmp_path)
    made.state.clock = lambda: NOW
    return made


@pytest.fixture
def echo(client: TestClient, vendor: Vendor, put: Put) -> dict[str, Any]:
    """A provider that was put; its document."""
    put()
    document: dict[str, Any] = {
        "fills": "echo",
        "request": {
            "method": "POST",
            "url": f"http://{vendor.host}/v2/{{key.domain}}",
            "headers": {"Authorization": "Bearer {secret.ECHO_KEY}"},
        },
        "read": {"echo1": "a.b", "echo2": "a.c"},
        "price": 0.05,
        "ceilings": {"day": 0.1},
    }
    assert client.put("/providers/echo", json=document).status_code == 201
    return document


def trial(client: TestClient, **more: Any) -> Any:
    return client.post("/providers/echo/test", json=CASE, **more)


@pytest.mark.usefixtures("echo")
def test_it_shows_what_was_read_and_what_it_cost(
    client: TestClient, vendor: Vendor
) -> None:
    result = trial(client)

    shown = result.json()
    assert result.status_code == 200, result.text
    assert result.headers["cache-control"] == "no-store"
    assert shown["values"] == {"echo1": 3, "echo2": 4}
    assert (shown["state"], shown["status"], shown["problems"]) == ("settled", 200, {})
    assert (shown["price"], shown["charged"], shown["unit"]) == (0.05, 0.05, "CAD")
    (asked,) = vendor.asked
    assert asked["path"] == "/v2/acme.example"
    assert asked["headers"]["Authorization"] == f"Bearer {SECRET}"
    (call,) = client.get("/calls?provider=echo").json()["items"]
    assert (call["id"], call["session"], call["state"]) == (
        *(shown["call"], None),
        "settled",
    )
    state = client.get("/providers/echo").json()
    assert (state["spent"], state["held"]) == (0.05, 0.0)


@pytest.mark.usefixtures("echo")
def test_neither_its_values_nor_its_keys_are_stored(
    client: TestClient, vendor: Vendor, engine: sa.Engine
) -> None:
    vendor.answer = {"a": {"b": 31_415_926, "c": 4}}

    trial(client, headers={"Idempotency-Key": "once"})

    with engine.connect() as connection:
        dump = "".join(
            str(connection.execute(sa.select(table)).all())
            for table in metadata.sorted_tables
        )
    assert "once" in dump
    for text in ("31415926", "acme.example", SECRET):
        assert text not in dump, text


@pytest.mark.usefixtures("echo")
def test_sent_again_it_pays_nothing(client: TestClient, vendor: Vendor) -> None:
    key = {"Idempotency-Key": "once"}

    first, again = (trial(client, headers=key) for _ in range(2))

    assert again.headers["idempotent-replayed"] == "true"
    assert again.json()["call"] == first.json()["call"]
    assert (again.json()["state"], again.json()["values"]) == ("reserved", None)
    assert len(vendor.asked) == 1


@pytest.mark.usefixtures("echo")
def test_no_test_passes_the_ceiling_of_the_day(
    client: TestClient, vendor: Vendor
) -> None:
    statuses = [trial(client).status_code for _ in range(3)]

    refused = trial(client).json()
    assert statuses == [200, 200, 409]
    assert refused["type"] == "/problems/conflict"
    assert "ceiling" in refused["detail"]
    assert len(vendor.asked) == 2


@pytest.mark.usefixtures("echo")
def test_what_failed_costs_nothing(client: TestClient, vendor: Vendor) -> None:
    vendor.status = 400

    shown = trial(client).json()

    assert (shown["state"], shown["status"]) == ("released", 400)
    assert shown["charged"] == 0.0
    assert client.get("/providers/echo").json()["spent"] == 0.0


@pytest.mark.usefixtures("echo")
def test_a_value_that_its_feature_cannot_have_is_told(
    client: TestClient, vendor: Vendor
) -> None:
    vendor.answer = {"a": {"b": "many", "c": 4}}

    shown = trial(client).json()

    assert shown["values"] == {"echo1": "many", "echo2": 4}
    assert list(shown["problems"]) == ["echo1"]
    assert shown["charged"] == 0.05


@pytest.mark.usefixtures("echo")
def test_a_key_that_is_missing_is_named_before_anything_is_paid(
    client: TestClient, vendor: Vendor
) -> None:
    refused = client.post("/providers/echo/test", json={"keys": {"vat": "1"}})

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "keys.domain"
    assert vendor.asked == []
    assert client.get("/calls").json()["items"] == []


@pytest.mark.usefixtures("echo")
def test_one_that_cools_down_is_not_called(
    client: TestClient, vendor: Vendor, engine: sa.Engine
) -> None:
    with transaction(engine) as db:
        stored = providers.get_locked(db, "echo")
        providers.change(db, stored.id, cools_until=NOW + timedelta(hours=1))

    refused = trial(client)

    assert refused.status_code == 409
    assert "cools down" in refused.json()["detail"]
    assert vendor.asked == []


def test_one_that_is_not_there_is_not_found(client: TestClient) -> None:
    assert trial(client).status_code == 404


def test_a_host_that_left_the_list_is_not_called(
    client: TestClient, app: FastAPI, echo: dict[str, Any], vendor: Vendor
) -> None:
    del echo
    settings = app.state.settings
    app.state.settings = settings.model_copy(update={"provider_hosts": []})

    shown = trial(client).json()

    assert shown["state"] == "released"
    assert vendor.asked == []
    assert client.get("/providers/echo").json()["held"] == 0.0


@pytest.mark.usefixtures("echo")
def test_one_whose_process_died_ends_with_the_next_one(
    client: TestClient, engine: sa.Engine
) -> None:
    """One that was sent is in doubt and counts; one that was not is released."""
    lost: list[str] = []
    with transaction(engine) as db:
        for state in ("reserved", "sent"):
            lost.append(calls.make_id())
            providers.reserve(db, "echo", "2026-11-28", 25_000, None)
            call = StoredCall(
                *(lost[-1], None, "echo", 1, state, ("echo1",), 25_000, 0, "CAD"),
                *("k" * 64, "2026-11-28", NOW - timedelta(minutes=6)),
            )
            calls.insert(db, call)

    assert trial(client).status_code == 200

    ended = [client.get(f"/calls/{call_id}").json() for call_id in lost]
    assert [call["state"] for call in ended] == ["released", "in_doubt"]
    assert [call["charged"] for call in ended] == [0.0, 0.025]
    state = client.get("/providers/echo").json()
    assert (state["spent"], state["held"]) == (0.075, 0.0)
