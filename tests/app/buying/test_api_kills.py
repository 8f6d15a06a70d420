"""kill -9 of the API while runs and tests begin: nothing is paid twice or lost."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from askless.app.records import StoredCall
from askless.app.service.buying.calling.trials import end_lost
from askless.app.store.buying import calls, providers
from tests.app.buying.conftest import DOMAINS, Provide, shop
from tests.app.buying.test_kills import wait_until
from tests.app.buying.vendors import Vendors, late
from tests.app.chaos.proxy import Proxy
from tests.app.chaos.rows import kept_from_writing, violations
from tests.app.clinic import model_json
from tests.app.servers import Server
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_server"]
pytestmark = pytest.mark.chaos

N_KILLS = 5
ALL = ("firmo", "visits", "score")
MOMENTS = ["before the commit", "after the commit"]
Json = dict[str, Any]
Call = Callable[[], httpx.Response]


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    made = Proxy(server.listener.getsockname())
    yield made
    made.close()


@pytest.fixture
def caller(proxy: Proxy) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=proxy.url, timeout=60, trust_env=False) as made:
        yield made


def insist(call: Call) -> httpx.Response:
    """Send a request until it is answered, as clients do after a broken connection."""
    while True:
        try:
            response = call()
        except httpx.TransportError:
            continue
        if response.status_code < 500:
            return response


@pytest.fixture
def killed(server: Server, proxy: Proxy) -> Callable[[str, Call], httpx.Response]:
    """Kill the server around the commit of a call, which is sent again."""

    def around(moment: str, call: Call) -> httpx.Response:
        if moment == MOMENTS[1]:
            proxy.act = server.kill
            return insist(call)
        with ThreadPoolExecutor(1) as pool:
            with kept_from_writing(server.settings.url):
                proxy.has_request.clear()
                sent = pool.submit(insist, call)
                assert proxy.has_request.wait(30)
                # That it has come to its statements; it can't get beyond them.
                threading.Event().wait(0.1)
                server.kill()
            return sent.result()

    return around


@pytest.fixture
def model(caller: httpx.Client) -> str:
    body = model_json(shop(), "shop")
    response = insist(lambda: caller.post("/models", json=body))
    model_id: str = response.json()["id"]
    return model_id


def start(caller: httpx.Client, model: str, domain: str) -> httpx.Response:
    body = {"model": model, "budget": 1.0, "run": True, "client_ref": domain}
    headers = {"Idempotency-Key": f"run of {domain}"}
    return caller.post(
        "/predict", json=body | {"keys": {"domain": domain}}, headers=headers
    )


def read(caller: httpx.Client, session_id: str) -> Json:
    session: Json = insist(lambda: caller.get(f"/predict/{session_id}")).json()
    return session


def check_paid(engine: sa.Engine, vendors: Vendors, sessions: list[Json]) -> None:
    """Each case has cost what the vendors bill, and each was asked once for it."""
    billed = vendors.bill_by_case()
    spent = {s["client_ref"]: round(1e6 * s["budget"]["spent"]) for s in sessions}
    assert spent == {domain: billed.get(domain, 0) for domain in spent}
    assert len(vendors.bill) == len({(c.vendor, c.domain) for c in vendors.bill})
    assert violations(engine) == []
    with engine.connect() as connection:
        held = sa.select(sa.func.sum(providers.provider_days.c.held))
        assert connection.scalar(held) == 0


@pytest.mark.usefixtures("buyer")
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_whose_start_was_killed_is_there_once(
    caller: httpx.Client,
    model: str,
    provide: Provide,
    vendors: Vendors,
    engine: sa.Engine,
    killed: Callable[..., httpx.Response],
    moment: str,
) -> None:
    provide(*ALL, timeout_s=5, attempts=3)
    domains = DOMAINS[:N_KILLS]

    answers = [
        killed(moment, lambda domain=domain: start(caller, model, domain))
        for domain in domains
    ]

    ids = [answer.json()["id"] for answer in answers]
    assert {answer.status_code for answer in answers} == {202}
    wait_until(lambda: all(read(caller, i)["run"]["state"] == "ended" for i in ids))
    for domain, session_id in zip(domains, ids, strict=True):
        listed = insist(lambda d=domain: caller.get(f"/predict?client_ref={d}")).json()
        assert [session["id"] for session in listed["items"]] == [session_id]
    check_paid(engine, vendors, [read(caller, session_id) for session_id in ids])


@pytest.mark.usefixtures("buyer")
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_whose_changes_were_killed_buys_each_answer_once(
    caller: httpx.Client,
    model: str,
    provide: Provide,
    vendors: Vendors,
    engine: sa.Engine,
    killed: Callable[..., httpx.Response],
    moment: str,
) -> None:
    provide(*ALL, timeout_s=5, attempts=3)
    vendors.script("visits", *[late(0.3)] * N_KILLS)
    ids = []
    for domain in DOMAINS[:N_KILLS]:
        session_id = insist(lambda d=domain: start(caller, model, d)).json()["id"]
        path = f"/predict/{session_id}"
        for wish in ({"run": "paused"}, {"run": "buying", "budget": 0.9}):
            killed(moment, lambda p=path, w=wish: caller.patch(p, json=w))
        ids.append(session_id)

    wait_until(lambda: all(read(caller, i)["run"]["state"] == "ended" for i in ids))

    sessions = [read(caller, session_id) for session_id in ids]
    # One that had ended before is closed to changes.
    assert {session["budget"]["limit"] for session in sessions} <= {0.9, 1.0}
    check_paid(engine, vendors, sessions)


def list_tests(engine: sa.Engine) -> list[StoredCall]:
    with transaction(engine, is_read=True) as db:
        return list(calls.page(db, 100, None).items)


@pytest.mark.parametrize("moment", [*MOMENTS, "while the provider is asked"])
def test_a_test_of_a_provider_that_was_killed_asks_once_and_is_settled(
    caller: httpx.Client,
    server: Server,
    model: str,
    provide: Provide,
    vendors: Vendors,
    engine: sa.Engine,
    killed: Callable[..., httpx.Response],
    moment: str,
) -> None:
    """One that was asked and not settled is in doubt, once it is swept."""
    del model
    provide("visits")
    is_asked = moment not in MOMENTS
    for number, domain in enumerate(DOMAINS[:N_KILLS]):
        headers = {"Idempotency-Key": f"test of {domain}"}
        body = {"keys": {"domain": domain}}

        def trial(body: Json = body, headers: Any = headers) -> httpx.Response:
            return caller.post("/providers/visits/test", json=body, headers=headers)

        if not is_asked:
            killed(moment, trial)
            continue
        vendors.script("visits", late(1.0))
        with ThreadPoolExecutor(1) as pool:
            sent = pool.submit(insist, trial)
            wait_until(lambda n=number: len(vendors.requests) > n)
            server.kill()
            assert sent.result().json()["state"] == "reserved"

    with transaction(engine) as db:
        end_lost(db, "visits", datetime.now(UTC) + timedelta(minutes=6))

    made = list_tests(engine)
    assert len(made) == len(vendors.requests) == len(vendors.bill) == N_KILLS
    state = "in_doubt" if is_asked else "settled"
    assert {call.state for call in made} == {state}
    shown = insist(lambda: caller.get("/providers/visits")).json()
    assert (shown["spent"], shown["held"]) == (N_KILLS * 0.001, 0)
