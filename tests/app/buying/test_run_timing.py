"""Runs for which seconds are money: calls side by side, and a deadline."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.records import StoredCall
from askless.app.service.buying import recovery
from askless.app.service.buying import runs as service
from askless.app.service.buying.calling.sending import Reply
from askless.app.service.buying.turns import CallOrder, Pause
from askless.app.settings.settings import Settings
from askless.app.store.buying import calls, providers
from tests.app.buying.conftest import DOMAINS, Decide, Provide, shop
from tests.app.buying.test_leases import ALIVE_S, SILENT_S, Desk
from tests.app.buying.test_run_rules import get, micros, wait_until
from tests.app.buying.vendors import Vendors, fails, late
from tests.app.clinic import Put
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]

ALL = ("firmo", "visits", "score")
TOGETHER = {"value_of_second": 1_000.0, "at_once": 3}
Json = dict[str, Any]


@pytest.fixture
def desk(engine: sa.Engine, settings: Settings) -> Desk:
    return Desk(engine, settings)


def call_states(client: TestClient, session: Json) -> dict[str, str]:
    listed = get(client, f"/calls?session={session['id']}")["items"]
    return {call["provider"]: call["state"] for call in listed}


def begin(client: TestClient, put: Put, desk: Desk, **terms: Any) -> str:
    """Start a run, claimed by buyer A."""
    body = {"model": put(shop(), "shop"), "budget": 1.0, "run": TOGETHER | terms}
    session = client.post("/predict", json=body | {"keys": {"domain": DOMAINS[20]}})
    assert session.status_code == 202, session.text
    session_id: str = session.json()["id"]
    assert desk.claim("A") == [session_id]
    return session_id


def order_all(desk: Desk, session_id: str) -> list[CallOrder]:
    """Reserve what leaves together, and mark it sent."""
    [step] = desk.act("A", recovery.recover, session_id)
    orders = []
    while isinstance(step, CallOrder):
        orders.append(step)
        assert desk.leaves(step)
        step = desk.act("A", service.advance, session_id)
    assert isinstance(step, Pause)
    return orders


def test_calls_leave_together_where_seconds_are_dear(
    decide: Decide, provide: Provide, vendors: Vendors
) -> None:
    provide(*ALL)
    for name in ALL:
        vendors.script(name, late(0.5))

    session = decide(run=TOGETHER)

    keys = [request.vendor for request in vendors.requests]
    assert sorted(filter(None, keys)) == sorted(ALL)
    assert session["run"]["state"] == "ended"
    assert micros(session["budget"]["spent"]) == sum(
        charge.micros for charge in vendors.bill
    )


@pytest.mark.parametrize("terms", [{"value_of_second": 0.0}, {"at_once": 1}])
def test_they_leave_one_by_one_where_seconds_cost_nothing(
    client: TestClient, put: Put, provide: Provide, desk: Desk, terms: Json
) -> None:
    provide(*ALL)

    orders = order_all(desk, begin(client, put, desk, **terms))

    assert [order.call.provider for order in orders] == ["visits"]


def test_no_more_than_agreed_are_on_their_way(
    client: TestClient, put: Put, provide: Provide, desk: Desk
) -> None:
    provide(*ALL)

    orders = order_all(desk, begin(client, put, desk, at_once=2))

    assert [order.call.provider for order in orders] == ["visits", "firmo"]


def test_those_on_their_way_never_pass_the_budget(
    client: TestClient, put: Put, provide: Provide, desk: Desk
) -> None:
    provide(*ALL)
    body = {"model": put(shop(), "shop"), "budget": 0.02, "run": TOGETHER}
    client.post("/predict", json=body | {"keys": {"domain": DOMAINS[20]}})
    (session_id,) = desk.claim("A")

    orders = order_all(desk, session_id)

    assert sum(order.call.price for order in orders) <= 20_000


def test_answers_are_taken_in_any_order(
    client: TestClient, put: Put, provide: Provide, desk: Desk
) -> None:
    provide(*ALL)
    session_id = begin(client, put, desk)
    visits, firmo, score = order_all(desk, session_id)
    firm = b'{"company": {"employees": 190, "industry": "it"}}'
    bodies = [(firmo, firm), (score, b'{"score": 0.7}'), (visits, b'{"visits": 20}')]

    for order, body in bodies:
        result = service.CallResult(order, Reply(200, body), 1)
        desk.act("A", service.settle, result)

    session = get(client, f"/predict/{session_id}")
    known = {answer["feature"]: answer["value"] for answer in session["answers"]}
    assert session["run"]["state"] == "ended"
    assert known["visits"] == 20 or session["pending"] == []
    assert micros(session["budget"]["spent"]) == 651_000


@pytest.mark.parametrize("has_key", [True, False])
def test_after_a_crash_each_call_on_its_way_is_taken_over(
    client: TestClient, put: Put, provide: Provide, desk: Desk, has_key: bool
) -> None:
    header = "Idempotency-Key" if has_key else None
    provide(*ALL, idempotency_header=header)
    session_id = begin(client, put, desk)
    orders = order_all(desk, session_id)

    assert desk.claim("B", SILENT_S) == [session_id]
    steps = desk.act("B", recovery.recover, session_id)

    states = [call.state for call in desk.calls(session_id)]
    if has_key:
        again = [step.call.id for step in steps if isinstance(step, CallOrder)]
        assert again == [order.call.id for order in orders]
        assert states == ["sent"] * 3
    else:
        assert states == ["in_doubt"] * 3
    assert micros(get(client, f"/predict/{session_id}")["budget"]["spent"]) == (
        0 if has_key else 651_000
    )


def test_a_paused_run_stays_with_whom_calls_are_on_their_way(
    client: TestClient, put: Put, provide: Provide, desk: Desk
) -> None:
    provide(*ALL)
    session_id = begin(client, put, desk)
    visits, *_ = order_all(desk, session_id)
    assert client.patch(f"/predict/{session_id}", json={"run": "paused"}).is_success

    first = service.CallResult(visits, Reply(200, b'{"visits": 20}'), 1)
    assert isinstance(desk.act("A", service.settle, first), Pause)
    client.patch(f"/predict/{session_id}", json={"run": "buying"})

    assert desk.claim("B", ALIVE_S) == []
    states = [call.state for call in desk.calls(session_id)]
    assert states == ["settled", "sent", "sent"]


def test_one_that_must_not_leave_leaves_the_others_alone(
    client: TestClient, put: Put, provide: Provide, desk: Desk
) -> None:
    provide(*ALL)
    session_id = begin(client, put, desk)
    [visits] = desk.act("A", recovery.recover, session_id)
    assert isinstance(visits, CallOrder)
    assert desk.leaves(visits)
    firmo = desk.act("A", service.advance, session_id)
    assert isinstance(firmo, CallOrder)
    client.post(f"/predict/{session_id}/stop")

    assert not desk.leaves(firmo)
    desk.act("A", partial(recovery.release, call_id=firmo.call.id), session_id)

    states = {call.provider: call.state for call in desk.calls(session_id)}
    assert states == {"visits": "in_doubt", "firmo": "released"}
    # Its answer comes after the end, and is taken.
    late_reply = service.CallResult(visits, Reply(200, b'{"visits": 20}'), 1)
    desk.act("A", service.settle, late_reply)
    session = get(client, f"/predict/{session_id}")
    assert session["pending"] == []
    assert micros(session["budget"]["spent"]) == 1_000


@pytest.mark.parametrize(
    ("reply", "state", "spent"),
    [
        (Reply(200, b'{"visits": 20}'), "settled", 1_000),
        (Reply(200, b'{"visits": null}'), "missed", 0),
        (Reply(500), "released", 0),
        (Reply(None, failure="no_answer"), "in_doubt", 1_000),
    ],
)
def test_a_deadline_ends_with_what_is_known_and_late_answers_are_taken(
    client: TestClient,
    put: Put,
    provide: Provide,
    desk: Desk,
    reply: Reply,
    state: str,
    spent: int,
) -> None:
    provide(*ALL, idempotency_header=None)
    session_id = begin(client, put, desk, deadline_s=5, value_of_second=0.0)
    (visits,) = order_all(desk, session_id)
    later = partial(act_later, desk, timedelta(seconds=6))

    assert later(service.advance, session_id) is None

    ended = get(client, f"/predict/{session_id}")
    assert (ended["run"]["state"], ended["stop_reason"]) == ("ended", "out_of_time")
    assert ended["pending"] == ["visits"]
    assert micros(ended["budget"]["spent"]) == 1_000
    later(service.settle, service.CallResult(visits, reply, 1))
    session = get(client, f"/predict/{session_id}")
    assert [call.state for call in desk.calls(session_id)] == [state]
    assert micros(session["budget"]["spent"]) == spent
    assert session["pending"] == (["visits"] if state == "in_doubt" else [])
    assert get(client, "/providers/visits")["held"] == 0
    assert micros(get(client, "/providers/visits")["spent"]) == spent


def act_later(desk: Desk, span: timedelta, act: Any, asked: Any) -> Any:
    """Let buyer A act when some time has passed."""
    at = desk.settings.moment_at(datetime.now(UTC) + span)
    with transaction(desk.engine) as db:
        return act(db, desk.buying("A"), asked, at)


def test_a_buyer_ends_at_the_deadline_while_a_vendor_hangs(
    client: TestClient, decide: Decide, provide: Provide, vendors: Vendors
) -> None:
    provide(*ALL, timeout_s=30)
    vendors.script("visits", late(4))

    session = decide(run={"deadline_s": 1.5})

    assert session["stop_reason"] == "out_of_time"
    assert call_states(client, session) == {"visits": "in_doubt"}
    wait_until(lambda: call_states(client, session) == {"visits": "settled"})
    path = f"/predict/{session['id']}"
    assert get(client, path)["pending"] == []
    assert get(client, f"{path}/receipt")["stop_reason"] == "out_of_time"


def test_a_provider_that_would_come_too_late_is_not_asked(
    client: TestClient,
    put: Put,
    provide: Provide,
    desk: Desk,
) -> None:
    provide(*ALL)
    with transaction(desk.engine) as db:
        calls.insert(db, timed("visits", 8_000))
    session_id = begin(client, put, desk, deadline_s=5, value_of_second=0.0)

    (order,) = order_all(desk, session_id)

    assert order.call.provider == "firmo"
    left_out = get(client, f"/predict/{session_id}")["run"]["left_out"]
    assert left_out == {"visits": "its answer is expected after the deadline"}


@pytest.mark.parametrize(("wait_s", "first"), [(58, "firmo"), (1, "visits")])
def test_the_wait_for_a_turn_counts_against_the_deadline(
    client: TestClient,
    put: Put,
    provide: Provide,
    desk: Desk,
    wait_s: int,
    first: str,
) -> None:
    provide(*ALL)
    session_id = begin(client, put, desk, deadline_s=60, value_of_second=0.0)
    next_at = datetime.now(UTC) + timedelta(seconds=wait_s)
    with transaction(desk.engine) as db:
        calls.insert(db, timed("visits", 20_000))
        providers.change(db, "prv_visits", next_at=next_at)

    (order,) = order_all(desk, session_id)

    assert order.call.provider == first


def timed(provider: str, latency_ms: int) -> StoredCall:
    """A test of a provider, which has answered after a time."""
    now = datetime.now(UTC)
    return StoredCall(
        id=calls.make_id(),
        session_id=None,
        provider=provider,
        number=1,
        state="settled",
        features=(provider,),
        price=0,
        charged=0,
        unit="USD",
        idempotency_key="k",
        day=f"{now:%Y-%m-%d}",
        created_at=now,
        attempts=1,
        latency_ms=latency_ms,
        ended_at=now,
    )


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        ({"value_of_second": -1}, "run.value_of_second"),
        ({"deadline_s": 0}, "run.deadline_s"),
        ({"at_once": 0}, "run.at_once"),
        ({"at_once": 17}, "run.at_once"),
        ({"atonce": 2}, "run.atonce"),
    ],
)
def test_terms_out_of_range_are_refused_by_name(
    client: TestClient, put: Put, provide: Provide, terms: Json, field: str
) -> None:
    provide(*ALL)
    body = {"model": put(shop(), "shop"), "budget": 1.0, "run": terms}

    refused = client.post("/predict", json=body | {"keys": {"domain": DOMAINS[20]}})

    assert refused.status_code == 422
    assert field in refused.text


def test_calls_that_fail_side_by_side_cost_nothing(
    decide: Decide, provide: Provide, vendors: Vendors
) -> None:
    provide(*ALL, attempts=1)
    for name in ALL:
        vendors.script(name, fails(500))

    session = decide(run=TOGETHER)

    assert session["run"]["state"] == "ended"
    assert session["budget"]["spent"] == 0
