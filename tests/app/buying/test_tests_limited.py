"""Tests of providers keep to the limits of calls, and end when their process dies."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.buyer.buyer import RunBuyer
from askless.app.records import StoredCall
from askless.app.service.buying.calling import trials
from askless.app.service.buying.calling.sending import Sender
from askless.app.service.loaded import LoadedModels
from askless.app.settings.settings import Settings
from askless.app.store.buying import calls, providers
from tests.app.buying.conftest import DOMAINS, Provide, shop
from tests.app.buying.vendors import Vendors
from tests.app.clinic import Put
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]

NOW = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
KEYS = {"domain": DOMAINS[3]}


@pytest.fixture
def clock(app: FastAPI) -> None:
    app.state.clock = lambda: NOW


def trial(client: TestClient) -> Any:
    return client.post("/providers/visits/test", json={"keys": KEYS})


def begin(engine: sa.Engine, state: Any, at: datetime) -> str:
    """Store a test that is reserved or sent; return its id."""
    day = f"{at:%Y-%m-%d}"
    call = StoredCall(
        *(calls.make_id(), None, "visits", 1, state, ("visits",), 1_000, 0, "USD"),
        *("k" * 64, day, at),
    )
    with transaction(engine) as db:
        providers.reserve(db, "visits", day, 1_000, None)
        calls.insert(db, call)
    return call.id


def states(engine: sa.Engine, *ids: str) -> list[str]:
    with transaction(engine, is_read=True) as db:
        return [calls.get(db, call_id).state for call_id in ids]


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("per_second", "statuses"), [(10, [200, 200]), (0.1, [200, 409])]
)
def test_a_test_waits_for_its_turn_and_is_refused_where_that_is_long(
    client: TestClient,
    put: Put,
    provide: Provide,
    vendors: Vendors,
    per_second: float,
    statuses: list[int],
) -> None:
    put(shop(), "shop")
    provide("visits", per_second=per_second)

    shown = [trial(client) for _ in range(2)]

    assert [response.status_code for response in shown] == statuses
    assert len(vendors.requests) == statuses.count(200)
    assert client.get("/providers/visits").json()["held"] == 0


@pytest.mark.usefixtures("clock")
def test_a_test_is_refused_while_as_many_calls_are_on_their_way(
    client: TestClient, put: Put, provide: Provide, vendors: Vendors, engine: sa.Engine
) -> None:
    put(shop(), "shop")
    provide("visits", at_once=1)
    begin(engine, "sent", NOW)

    refused = trial(client)

    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/conflict")
    assert "no more calls" in refused.json()["detail"]
    assert vendors.requests == []


def test_the_buyer_ends_the_tests_whose_process_died(
    client: TestClient, provide: Provide, engine: sa.Engine, settings: Settings
) -> None:
    """A provider that was deleted has held money, too."""
    provide("visits")
    long_ago = datetime.now(UTC) - timedelta(minutes=6)
    lost = [begin(engine, state, long_ago) for state in ("reserved", "sent")]
    alive = begin(engine, "sent", datetime.now(UTC))
    client.delete("/providers/visits")

    for _ in range(2):
        asyncio.run(RunBuyer(settings, engine).sweep())

    assert states(engine, *lost, alive) == ["released", "in_doubt", "sent"]
    with transaction(engine, is_read=True) as db:
        days = {f"{at:%Y-%m-%d}" for at in (long_ago, datetime.now(UTC))}
        sums = [providers.find_day(db, "visits", day) or (0, 0) for day in days]
    assert [*map(sum, zip(*sums, strict=True))] == [1_000, 1_000]


def test_a_test_that_was_taken_for_lost_does_not_leave(
    put: Put, provide: Provide, vendors: Vendors, engine: sa.Engine
) -> None:
    put(shop(), "shop")
    provide("visits")
    now = datetime.now(UTC)
    place = trials.TrialPlace(LoadedModels(), None, now)
    with transaction(engine) as db:
        order = trials.prepare(db, place, "visits", KEYS)
        trials.end_lost(db, "visits", now + timedelta(minutes=6))

    async def work(act: Callable[..., Any]) -> Any:
        with transaction(engine) as db:
            return act(db)

    sender = Sender([vendors.host])
    tried = asyncio.run(trials.call_once(order, sender, work, lambda: now))

    assert (tried.call.state, tried.call.charged) == ("released", 0)
    assert vendors.requests == []
