"""Runs that are handed over, misread and followed while they buy."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.buyer.buyer import RunBuyer
from askless.app.records import DEFAULT_TENANT
from askless.app.service.buying.verifying import check_receipt
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import transaction
from askless.app.store.database.tables import sessions
from tests.app.buying.conftest import DOMAINS, Decide, Provide, shop
from tests.app.buying.test_run_rules import begin, get, micros, wait_for_end, wait_until
from tests.app.buying.vendors import WRONG_TYPES, Vendors, fails, late
from tests.app.clinic import Put

pytest_plugins = ["tests.app.conftest_http"]

ALL = ("firmo", "visits", "score")
Json = dict[str, Any]


@pytest.fixture
def model(put: Put) -> str:
    return put(shop(), "shop")


def answer(client: TestClient, path: str, feature: str, value: float) -> Any:
    given = {"feature": feature, "outcome": "value", "value": value}
    body = {"answers": [given], "insist": True}
    return client.post(f"{path}/answers", json=body)


@pytest.mark.usefixtures("buyer")
def test_a_run_that_is_handed_to_a_person_buys_no_more_and_is_no_run_to_them(
    client: TestClient, model: str, provide: Provide, vendors: Vendors
) -> None:
    provide(*ALL)
    vendors.script("visits", late(0.5))
    session = begin(client, model)
    path = f"/predict/{session['id']}"
    wait_until(lambda: vendors.requests)

    handed = client.patch(path, json={"run": None})
    wait_until(lambda: get(client, path)["budget"]["spent"] > 0)

    assert (handed.status_code, handed.json()["run"]["state"]) == (200, "released")
    shown = get(client, path)
    assert (shown["run"]["state"], shown["state"]) == ("released", "open")
    assert shown["question"]["feature"] in ("size", "industry", "score")
    assert answer(client, path, "score", 0.7).status_code == 200
    assert len(vendors.requests) == 1
    client.post(f"{path}/stop")
    ended = wait_for_end(client, session)
    assert ended["stop_reason"] == "client_stopped"
    assert micros(ended["budget"]["spent"]) == 601_000
    assert len(vendors.requests) == 1


@pytest.mark.usefixtures("buyer")
def test_one_that_was_handed_over_goes_on_by_itself_again(
    client: TestClient, model: str, provide: Provide, vendors: Vendors
) -> None:
    provide(*ALL)
    vendors.script("visits", late(0.5))
    session = begin(client, model)
    path = f"/predict/{session['id']}"
    wait_until(lambda: vendors.requests)
    client.patch(path, json={"run": None})
    wait_until(lambda: get(client, path)["budget"]["spent"] > 0)

    client.patch(path, json={"run": "buying", "budget": 0.9})

    ended = wait_for_end(client, session)
    assert ended["budget"]["limit"] == 0.9
    assert micros(ended["budget"]["spent"]) == sum(vendors.bill_by_case().values())
    refused = client.patch(path, json={"run": None})
    assert refused.json()["type"].endswith("session-closed")


@pytest.mark.usefixtures("buyer")
def test_a_paused_run_that_expires_gets_its_receipt(
    client: TestClient,
    model: str,
    provide: Provide,
    settings: Settings,
    engine: sa.Engine,
) -> None:
    provide(*ALL)
    session = begin(client, model)
    path = f"/predict/{session['id']}"
    client.patch(path, json={"run": "paused"})
    wait_until(lambda: all(call["ended_at"] for call in get(client, "/calls")["items"]))
    sweeping = RunBuyer(settings, engine)

    asyncio.run(sweeping.sweep())
    kept = get(client, path)["run"]["state"]
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    with transaction(engine, DEFAULT_TENANT) as db:
        db.execute(sessions.update().values(updated_at=long_ago))
    asyncio.run(sweeping.sweep())

    assert kept == "paused"
    assert wait_for_end(client, session)["stop_reason"] == "expired"
    assert client.get(f"{path}/receipt").json()["stop_reason"] == "expired"
    assert "event: ended" in client.get(f"{path}/events").text


def test_what_is_no_run_cannot_be_handed_over(client: TestClient, model: str) -> None:
    session = client.post("/predict", json={"model": model, "budget": 1}).json()

    refused = client.patch(f"/predict/{session['id']}", json={"run": None})

    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/conflict")


@pytest.mark.usefixtures("buyer")
def test_what_a_person_answers_after_a_failed_call_stands_in_the_receipt(
    client: TestClient, model: str, provide: Provide, vendors: Vendors
) -> None:
    provide(*ALL)
    vendors.script("visits", fails(503), fails(503))
    vendors.script("firmo", late(0.5))
    session = begin(client, model)
    path = f"/predict/{session['id']}"
    wait_until(lambda: "firmo" in vendors.counts_by_vendor())
    client.patch(path, json={"run": None})
    wait_until(lambda: get(client, path)["budget"]["spent"] > 0)

    assert answer(client, path, "visits", 3).status_code == 200

    client.post(f"{path}/stop")
    wait_for_end(client, session)
    receipt = get(client, f"{path}/receipt")
    bought = {(b["provider"], *b["features"]): b for b in receipt["bought"]}
    assert bought["visits", "visits"]["state"] == "released"
    assert bought[None, "visits"]["values"] == {"visits": 3}
    charged = sum(micros(line["charged"]) for line in receipt["bought"])
    assert charged == micros(receipt["budget"]["spent"]) == 51_000
    assert check_receipt(receipt) == []


def test_providers_that_answer_wrong_types_are_paid_kept_out_and_told(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient
) -> None:
    provide(*ALL)
    for name in ALL:
        vendors.script(name, WRONG_TYPES)

    session = decide()

    receipt = get(client, f"/predict/{session['id']}/receipt")
    lines = {line["provider"]: line for line in receipt["bought"]}
    assert list(lines) == ["visits", "firmo", "score"]
    assert {line["state"] for line in lines.values()} == {"settled"}
    assert lines["visits"]["reason"].startswith("visits: must be")
    assert "size: must be" in lines["firmo"]["reason"]
    outcomes = {answer["feature"]: answer["outcome"] for answer in session["answers"]}
    # A number may be a code that training did not see.
    assert outcomes.pop("industry") == "value"
    assert outcomes == dict.fromkeys(("visits", "size", "score"), "unknown")
    assert micros(session["budget"]["spent"]) == sum(vendors.bill_by_vendor().values())
    assert client.get("/providers/visits").json()["cools_until"] is None


@pytest.mark.usefixtures("buyer")
def test_events_come_while_a_run_buys(
    client: TestClient, model: str, provide: Provide, vendors: Vendors
) -> None:
    """The stream is open before anything was answered, and ends with the run."""
    provide(*ALL)
    for name in ALL:
        vendors.script(name, late(0.5))
    session = begin(client, model)

    with client.stream("GET", f"/predict/{session['id']}/events") as stream:
        text = "".join(stream.iter_text())

    events = [dict(read_fields(part)) for part in text.split("\n\n") if "id:" in part]
    assert [event["event"] for event in events] == ["call", "call", "call", "ended"]
    assert [int(event["id"]) for event in events] == [1, 2, 3, 4]
    told = [json.loads(event["data"]) for event in events[:3]]
    assert [call["provider"] for call in told] == ["visits", "firmo", "score"]
    ended = get(client, f"/predict/{session['id']}")
    spent = micros(ended["budget"]["spent"])
    assert sum(micros(call["charged"]) for call in told) == spent == 651_000
    assert DOMAINS[20] not in text


def read_fields(part: str) -> Any:
    for line in part.splitlines():
        name, mark, value = line.partition(": ")
        if mark:
            yield name, value
