"""A buyer that is killed or ended in each state of a call: nothing is paid twice."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.records import DEFAULT_TENANT
from askless.app.service.buying.calling.verdicts import LATE
from askless.app.settings.settings import Settings
from askless.app.store.buying import calls
from askless.app.store.database.engine import transaction
from tests.app.buying.conftest import DOMAINS, Provide, shop
from tests.app.buying.vendors import Vendors, late
from tests.app.clinic import Put

pytest_plugins = ["tests.app.conftest_http"]
pytestmark = pytest.mark.chaos

N_CASES = 20
PATIENCE_S = 60.0
# So dear that calls leave side by side.
TOGETHER = {"value_of_second": 1_000.0, "at_once": 3}
Process = subprocess.Popen[bytes]


def spawn(settings: Settings) -> Process:
    """Start `askless buyer`, whose lease is over after a second."""
    variables = {
        "ASKLESS_HOME": str(settings.home),
        "ASKLESS_DATABASE_URL": settings.database_url or "",
        "ASKLESS_PROVIDER_HOSTS": f'["{settings.provider_hosts[0]}"]',
        "ASKLESS_HEARTBEAT_TIMEOUT_S": "1",
    }
    others = {key: os.environ[key] for key in os.environ if "ASKLESS" not in key}
    return subprocess.Popen(
        [sys.executable, "-m", "askless.app.cli", "buyer"],
        env=others | variables,
    )


@contextmanager
def buyer_process(settings: Settings) -> Iterator[Process]:
    process = spawn(settings)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def wait_until(is_so: Any) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.02)


def read(client: TestClient, session_id: str) -> dict[str, Any]:
    response = client.get(f"/predict/{session_id}")
    assert response.status_code == 200, response.text
    session: dict[str, Any] = response.json()
    return session


def states(engine: sa.Engine) -> list[str]:
    with transaction(engine, DEFAULT_TENANT, is_read=True) as db:
        return [call.state for call in calls.page(db, 1_000, None).items]


@pytest.fixture
def begun(client: TestClient, put: Put, provide: Provide) -> Any:
    """Start twenty runs; return the ids of their sessions."""

    def start(run: bool | dict[str, Any], **changes: Any) -> list[str]:
        provide("firmo", "visits", "score", timeout_s=5, attempts=3, **changes)
        model = put(shop(), "shop")
        body = {"model": model, "budget": 1.0, "run": run}
        ids = []
        for domain in DOMAINS[:N_CASES]:
            case = body | {"keys": {"domain": domain}, "client_ref": domain}
            response = client.post("/predict", json=case)
            assert response.status_code == 202, response.text
            ids.append(response.json()["id"])
        return ids

    return start


def check_books(client: TestClient, ids: list[str], vendors: Vendors) -> int:
    """Each case has cost what the vendors bill, but for calls that are in doubt.

    Return how many of these a run has waited for: no other may be settled any more once
    its buyer is dead.
    """
    billed = vendors.bill_by_case()
    n_doubtful = 0
    for session_id in ids:
        session = read(client, session_id)
        assert session["run"]["state"] == "ended", session
        listed = client.get(f"/calls?session={session_id}").json()["items"]
        doubts = [call for call in listed if call["state"] == "in_doubt"]
        n_doubtful += sum(call["reason"] != LATE for call in doubts)
        spent = round(1e6 * session["budget"]["spent"])
        bill = billed.get(session["client_ref"], 0)
        doubt = sum(round(1e6 * call["charged"]) for call in doubts)
        assert spent - doubt <= bill <= spent, session_id
    bought = {(charge.vendor, charge.domain) for charge in vendors.bill}
    assert len(vendors.bill) == len(bought)
    return n_doubtful


@pytest.mark.parametrize("state", ["reserved", "sent", "settled"])
@pytest.mark.parametrize("has_key", [True, False])
@pytest.mark.parametrize("run", [True, TOGETHER])
def test_a_killed_buyer_pays_nothing_twice(
    client: TestClient,
    engine: sa.Engine,
    settings: Settings,
    vendors: Vendors,
    begun: Any,
    run: bool | dict[str, Any],
    state: str,
    has_key: bool,
) -> None:
    changes: dict[str, Any] = {} if has_key else {"idempotency_header": None}
    if state == "reserved":
        changes["per_second"] = 15
    if state == "sent":
        vendors.script("visits", *[late(1.5)] * N_CASES)
    ids = begun(run, **changes)
    first = spawn(settings)
    try:
        wait_until(lambda: states(engine).count(state) >= N_CASES // 2)
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    assert states(engine).count(state) > 0

    with buyer_process(settings):
        wait_until(
            lambda: all(read(client, key)["run"]["state"] == "ended" for key in ids)
        )

    n_doubtful = check_books(client, ids, vendors)
    # Without a key, also calls that were on their way beside those of the state.
    assert (not has_key and state != "sent") or (n_doubtful == 0) == has_key
    by_key = [key for key in vendors.counts_by_key() if key is not None]
    assert bool(by_key) == has_key


def test_a_buyer_that_is_ended_settles_what_is_on_its_way_together(
    client: TestClient,
    engine: sa.Engine,
    settings: Settings,
    vendors: Vendors,
    begun: Any,
) -> None:
    for name in ("firmo", "visits", "score"):
        vendors.script(name, *[late(1.5)] * N_CASES)
    ids = begun(TOGETHER, idempotency_header=None)
    with buyer_process(settings):
        wait_until(lambda: states(engine).count("sent") > N_CASES)

    assert "sent" not in states(engine)
    with buyer_process(settings):
        wait_until(
            lambda: all(read(client, key)["run"]["state"] == "ended" for key in ids)
        )
    assert check_books(client, ids, vendors) == 0
    assert "in_doubt" not in states(engine)
