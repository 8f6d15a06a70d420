"""The report on a provider, and its changes: named once, and to their tenant."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.buyer.buyer import RunBuyer
from askless.app.records import StoredCall
from askless.app.service.buying.watching import classify_call
from askless.app.settings.settings import Settings
from askless.app.store.buying import calls, providers
from tests.app.buying.conftest import DOMAINS, Decide, Provide, shop
from tests.app.buying.vendors import EMPTY, Vendors
from tests.app.clinic import Put
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]

Store = Callable[..., None]


@pytest.fixture
def now() -> datetime:
    """Return the time at which a test begins, which may be long after collection."""
    return datetime.now(UTC)


@pytest.fixture
def store(
    engine: sa.Engine, client: TestClient, put: Put, provide: Provide, now: datetime
) -> Store:
    """Store the provider visits, and calls to it as they were made, an instant each."""
    provide("visits")
    body = {"model": put(shop(), "shop"), "budget": 1.0}
    session = client.post("/predict", json=body).json()["id"]
    made: list[StoredCall] = []

    def insert(n_calls: int, *, empty: int = 0, **changes: Any) -> None:
        """Store calls of which one of so many came back empty; 0: none."""
        with transaction(engine) as db:
            for _ in range(n_calls):
                n = len(made) + 1
                at = now - timedelta(minutes=5) + timedelta(seconds=n / 10)
                is_empty = empty and n % empty == 0
                fields: dict[str, Any] = {
                    "state": "missed" if is_empty else "settled",
                    "reason": "empty" if is_empty else None,
                    "charged": 0 if is_empty else 1_000,
                    "latency_ms": 100 + n % 7,
                    "session_id": session,
                    "attempts": 1,
                    "day": f"{at:%Y-%m-%d}",
                    "created_at": at,
                }
                call = StoredCall(
                    id=calls.make_id(),
                    provider="visits",
                    number=n,
                    features=("visits",),
                    price=1_000,
                    unit="USD",
                    idempotency_key=str(n),
                    sent_at=at,
                    ended_at=at,
                    **(fields | changes),
                )
                calls.insert(db, call)
                made.append(call)

    return insert


def report_of(client: TestClient, name: str = "visits") -> dict[str, Any]:
    response = client.get(f"/providers/{name}/report")
    assert response.status_code == 200, response.text
    report: dict[str, Any] = response.json()
    return report


def kinds_of(client: TestClient) -> list[str]:
    return [change["kind"] for change in report_of(client)["changes"]]


def test_a_provider_without_calls_has_an_empty_report(
    client: TestClient, provide: Provide
) -> None:
    provide("visits")

    report = report_of(client)

    assert report["days"] == report["changes"] == []
    assert report["unit"] is None
    assert set(report["totals"].values()) == {0}
    assert (report["newest"]["timed"], report["newest"]["p50_ms"]) == (0, None)
    assert report["without"] == {"cases": 0, "labels_changed": 0, "saved": 0.0}


def test_a_provider_that_is_deleted_has_no_report(
    client: TestClient, store: Store
) -> None:
    store(3)
    client.delete("/providers/visits")

    assert client.get("/providers/visits/report").status_code == 404


def test_runs_are_counted_and_played_again_without_the_provider(
    client: TestClient, decide: Decide, provide: Provide, vendors: Vendors
) -> None:
    provide("firmo", "visits", "score")
    for domain in (DOMAINS[12], DOMAINS[20]):
        decide(domain)
    vendors.script("visits", EMPTY)
    decide(DOMAINS[5])

    reports = {name: report_of(client, name) for name in ("visits", "score")}

    totals = reports["visits"]["totals"]
    assert (totals["calls"], totals["answers"], totals["misses"]) == (3, 2, 1)
    assert totals["spent"] == pytest.approx(0.002)
    newest, without = reports["score"]["newest"], reports["score"]["without"]
    assert newest["cases"] == newest["calls"] == reports["score"]["totals"]["calls"]
    assert newest["p50_ms"] <= newest["p95_ms"]
    assert newest["labels_changed"] > 0
    assert 0 < without["labels_changed"] <= without["cases"] == newest["cases"]
    assert without["saved"] == pytest.approx(reports["score"]["totals"]["spent"])


def test_erased_cases_are_counted_and_not_played_again(
    client: TestClient, decide: Decide, provide: Provide
) -> None:
    provide("firmo", "visits", "score")
    session = decide()
    before = report_of(client, "score")
    client.delete(f"/predict/{session['id']}")

    after = report_of(client, "score")

    assert after["totals"] == before["totals"]
    assert (before["newest"]["cases"], after["newest"]["cases"]) == (1, 0)
    assert after["newest"]["share_changed"] is None
    assert (before["without"]["cases"], after["without"]["cases"]) == (1, 0)


def test_open_runs_are_not_played_again(client: TestClient, store: Store) -> None:
    store(3)

    assert report_of(client)["without"]["cases"] == 0


def test_misses_that_double_are_named_and_others_are_not(
    client: TestClient, store: Store
) -> None:
    store(1_200, empty=5)
    before = kinds_of(client)
    store(200, empty=2)

    assert before == []
    assert kinds_of(client) == ["misses"]
    page = client.get("/ui/providers/visits").text
    assert "answers were empty, before 20 %" in page


def test_the_page_draws_days_and_says_what_figures_rest_on(
    client: TestClient, store: Store, now: datetime
) -> None:
    for days in (3, 2, 1):
        at = now - timedelta(days=days)
        store(2, day=f"{at:%Y-%m-%d}", created_at=at)

    page = client.get("/ui/providers/visits").text

    assert "<svg" in page
    assert "These rest on the newest 6 calls" in page
    assert [day["calls"] for day in report_of(client)["days"]] == [2, 2, 2]


def test_days_beyond_thirty_are_not_counted(
    client: TestClient, store: Store, now: datetime
) -> None:
    for days in (29, 30):
        at = now - timedelta(days=days)
        store(1, day=f"{at:%Y-%m-%d}", created_at=at)

    report = report_of(client)

    assert report["totals"]["calls"] == len(report["days"]) == 1
    assert report["newest"]["calls"] == 2


def test_latency_failures_and_price_are_named(client: TestClient, store: Store) -> None:
    store(600)
    store(60, latency_ms=400)
    store(40, state="released", reason="answered 500", charged=0)
    store(1, charged=1_200)

    changes = report_of(client)["changes"]

    assert [change["kind"] for change in changes] == ["failures", "latency", "price"]
    assert (changes[2]["before"], changes[2]["after"]) == (0.001, 0.0012)


def test_latencies_are_those_of_answers(client: TestClient, store: Store) -> None:
    for latency_ms in range(1, 101):
        store(1, latency_ms=latency_ms)
    store(50, latency_ms=3_000, state="in_doubt", reason="no answer in time")

    newest = report_of(client)["newest"]

    assert newest["timed"] == 100
    assert newest["p50_ms"] == pytest.approx(50.5)
    assert newest["p95_ms"] == pytest.approx(95.05)


def test_tests_and_what_a_crash_cut_off_name_nothing(
    client: TestClient, store: Store
) -> None:
    store(600)
    store(100, session_id=None, state="missed", reason="empty")
    store(100, attempts=0, state="in_doubt", reason="no answer in time")

    assert kinds_of(client) == []
    totals = report_of(client)["totals"]
    assert (totals["misses"], totals["in_doubt"]) == (100, 100)


@pytest.mark.parametrize(
    ("state", "reason", "attempts", "end"),
    [
        ("settled", None, 1, "answer"),
        ("settled", "cache", 0, "cached"),
        ("missed", "empty", 0, "cached"),
        ("missed", "empty", 2, "miss"),
        ("missed", "unreadable", 1, "failure"),
        ("missed", "charged, by the operator", 0, "failure"),
        ("released", "answered 500", 1, "failure"),
        ("released", "never sent", 0, None),
        ("in_doubt", "no answer in time", 1, "in_doubt"),
    ],
)
def test_a_call_has_one_end(
    state: str, reason: str | None, attempts: int, end: str | None
) -> None:
    assert classify_call(state, reason, attempts) == end


def test_a_change_is_logged_and_counted_once(
    client: TestClient,
    engine: sa.Engine,
    settings: Settings,
    store: Store,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "askless")
    store(600)
    buyer = RunBuyer(settings, engine)

    def sweep() -> int:
        asyncio.run(buyer.sweep())
        return sum(record.message == "provider.changed" for record in caplog.records)

    named = [sweep()]
    store(1, charged=1_200)
    named += [sweep(), sweep()]
    value = client.app.state.metrics.registry.get_sample_value  # type: ignore[attr-defined]
    client.get("/metrics")
    with transaction(engine) as db:
        stored = providers.get(db, "visits")
    store(250, charged=1_200)
    named.append(sweep())
    with transaction(engine) as db:
        later = providers.get(db, "visits")

    assert named == [0, 1, 1, 1]
    assert stored.changes is not None
    assert later.changes is None
    assert value("askless_providers_changed") == 1
    (fields,) = {
        tuple(record.fields) for record in caplog.records if hasattr(record, "fields")
    }
    assert {"provider", "kind", "before", "after"} <= {*fields}
