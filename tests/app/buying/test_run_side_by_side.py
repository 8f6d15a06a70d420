"""What is done to a run while several of its calls are on their way, or after it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from askless.app.records import StoredCall
from askless.app.service.buying import recovery
from askless.app.service.buying import runs as service
from askless.app.service.buying.calling.sending import Reply
from askless.app.service.buying.turns import CallOrder, Pause
from askless.app.settings.settings import Settings
from askless.app.store.buying import calls, providers
from askless.app.store.buying import runs as store
from tests.app.buying.conftest import DOMAINS, Decide, Provide, shop
from tests.app.buying.test_leases import SILENT_S, Desk, Json
from tests.app.buying.test_run_rules import get, micros, wait_until
from tests.app.buying.test_run_timing import ALL, TOGETHER, act_later, begin, order_all
from tests.app.buying.vendors import Vendors
from tests.app.clinic import Put
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]

NO_ANSWER = Reply(None, failure="no_answer")
VISITS = Reply(200, b'{"visits": 20}')
REPLIES = {
    "visits": VISITS,
    "firmo": Reply(200, b'{"company": {"employees": 190, "industry": "it"}}'),
    "score": Reply(200, b'{"score": 0.7}'),
}


@pytest.fixture
def desk(engine: sa.Engine, settings: Settings) -> Desk:
    return Desk(engine, settings)


def result_of(order: CallOrder) -> service.CallResult:
    return service.CallResult(order, REPLIES[order.call.provider], 1)


def check_books(client: TestClient, desk: Desk, session_id: str) -> None:
    """The ledger, the session, the calls and the providers say the same."""
    entries = get(client, f"/ledger?session={session_id}")["items"]
    signs = {"reversal": -1}
    total = sum(
        signs.get(entry["kind"], 1) * micros(entry["amount"]) for entry in entries
    )
    charged = sum(call.charged for call in desk.calls(session_id))
    spent = micros(get(client, f"/predict/{session_id}")["budget"]["spent"])
    listed = [get(client, f"/providers/{name}") for name in ALL]
    assert total == charged == spent
    assert sum(micros(provider["spent"]) for provider in listed) == spent
    assert [provider["held"] for provider in listed] == [0, 0, 0]


def test_a_call_leaves_though_another_is_in_doubt_and_nothing_more_is_asked(
    client: TestClient, put: Put, provide: Provide, desk: Desk
) -> None:
    """The session waits for a result then."""
    provide(*ALL, idempotency_header=None)
    body = {"model": put(shop(), "shop"), "budget": 0.051, "run": TOGETHER}
    client.post("/predict", json=body | {"keys": {"domain": DOMAINS[20]}})
    (session_id,) = desk.claim("A")
    [visits] = desk.act("A", recovery.recover, session_id)
    assert isinstance(visits, CallOrder)
    assert desk.leaves(visits)
    firmo = desk.act("A", service.advance, session_id)
    assert isinstance(firmo, CallOrder)

    desk.act("A", service.settle, service.CallResult(visits, NO_ANSWER, 1))

    assert get(client, f"/predict/{session_id}")["state"] == "waiting"
    assert desk.leaves(firmo)


def test_of_an_erased_run_each_call_is_taken_over_when_its_buyer_dies(
    client: TestClient, put: Put, provide: Provide, desk: Desk
) -> None:
    provide(*ALL)
    session_id = begin(client, put, desk)
    visits, *_ = order_all(desk, session_id)
    client.delete(f"/predict/{session_id}")
    desk.act("A", service.settle, result_of(visits))

    assert desk.claim("B", SILENT_S) == [session_id]
    desk.act("B", recovery.recover, session_id)

    states = [call.state for call in desk.calls(session_id)]
    assert states == ["settled", "in_doubt", "in_doubt"]
    assert micros(get(client, f"/predict/{session_id}")["budget"]["spent"]) == 651_000
    assert [get(client, f"/providers/{name}")["held"] for name in ALL] == [0, 0, 0]
    assert desk.claim("C", SILENT_S) == []


@pytest.mark.parametrize("hand_back", ["let_go", "leave"])
def test_a_paused_run_that_is_handed_back_has_its_calls_taken_over(
    client: TestClient, put: Put, provide: Provide, desk: Desk, hand_back: str
) -> None:
    """Its buyer has failed, or was ended; the run stays paused."""
    provide(*ALL, idempotency_header=None)
    session_id = begin(client, put, desk)
    order_all(desk, session_id)
    client.patch(f"/predict/{session_id}", json={"run": "paused"})
    with transaction(desk.engine) as db:
        if hand_back == "let_go":
            store.let_go(db, "A", session_id)
        else:
            store.leave(db, "A")

    assert desk.claim("B", SILENT_S) == [session_id]
    desk.act("B", recovery.recover, session_id)

    assert [call.state for call in desk.calls(session_id)] == ["in_doubt"] * 3
    assert get(client, f"/predict/{session_id}")["run"]["state"] == "paused"
    assert desk.claim("C", SILENT_S) == []
    check_books(client, desk, session_id)


def test_a_run_that_goes_on_is_seen_before_a_call_has_ended(
    client: TestClient, put: Put, provide: Provide, desk: Desk
) -> None:
    provide(*ALL)
    session_id = begin(client, put, desk, deadline_s=5)
    order_all(desk, session_id)
    client.patch(f"/predict/{session_id}", json={"run": "paused"})

    step = act_later(desk, timedelta(seconds=6), service.advance, session_id)
    assert step == Pause(service.PAUSED_S)
    client.patch(f"/predict/{session_id}", json={"run": "buying"})
    act_later(desk, timedelta(seconds=7), service.advance, session_id)

    ended = get(client, f"/predict/{session_id}")
    assert (ended["run"]["state"], ended["stop_reason"]) == ("ended", "out_of_time")


def test_no_pause_is_longer_than_what_the_deadline_leaves(
    client: TestClient, put: Put, provide: Provide, desk: Desk
) -> None:
    provide(*ALL)
    session_id = begin(client, put, desk, deadline_s=60, value_of_second=0.0)
    order_all(desk, session_id)

    step = desk.act("A", service.advance, session_id)

    assert isinstance(step, Pause)
    assert step.seconds is not None
    assert 0 < step.seconds <= 60


def test_a_turn_after_the_deadline_is_not_waited_for(
    client: TestClient, put: Put, provide: Provide, desk: Desk
) -> None:
    provide(*ALL, per_second=0.1)
    session_id = begin(client, put, desk, deadline_s=60, value_of_second=0.0)
    next_at = datetime.now(UTC) + timedelta(seconds=90)
    with transaction(desk.engine) as db:
        for stored in providers.list_all(db):
            providers.change(db, stored.id, next_at=next_at)

    assert desk.act("A", recovery.recover, session_id) == [None]

    ended = get(client, f"/predict/{session_id}")
    assert {*ended["run"]["left_out"]} == {*ALL}
    assert ended["stop_reason"] != "out_of_time"


def test_a_busy_provider_does_not_outlast_the_deadline(
    client: TestClient, put: Put, provide: Provide, desk: Desk
) -> None:
    provide(*ALL, at_once=1)
    order_all(desk, begin(client, put, desk, value_of_second=0.0))
    second_id = begin(client, put, desk, deadline_s=5, value_of_second=0.0)
    [step] = desk.act("A", recovery.recover, second_id)
    assert isinstance(step, Pause)

    assert act_later(desk, timedelta(seconds=6), service.advance, second_id) is None

    ended = get(client, f"/predict/{second_id}")
    assert (ended["run"]["state"], ended["stop_reason"]) == ("ended", "out_of_time")


def erase(client: TestClient, call: StoredCall) -> None:
    client.delete(f"/predict/{call.session_id}")


def answer_by_hand(client: TestClient, call: StoredCall) -> None:
    given = {"feature": "visits", "outcome": "value", "value": 3}
    path = f"/predict/{call.session_id}/answers"
    assert client.post(path, json={"answers": [given]}).is_success


def settle_by_hand(client: TestClient, call: StoredCall) -> None:
    body = {"charged": True}
    assert client.post(f"/calls/{call.id}/settle", json=body).is_success


def reverse_by_hand(client: TestClient, call: StoredCall) -> None:
    (entry,) = get(client, f"/ledger?session={call.session_id}")["items"]
    path = f"/ledger/{entry['id']}/reverse"
    assert client.post(path, json={"reason": "a test"}).is_success


def remove_provider(client: TestClient, call: StoredCall) -> None:
    assert client.delete(f"/providers/{call.provider}").is_success


@pytest.mark.parametrize(
    "beside", [erase, answer_by_hand, settle_by_hand, reverse_by_hand, remove_provider]
)
@pytest.mark.parametrize("reply", [VISITS, Reply(500), NO_ANSWER])
def test_a_late_answer_is_settled_once_whatever_was_done_since_the_end(
    client: TestClient,
    put: Put,
    provide: Provide,
    desk: Desk,
    beside: Callable[[TestClient, StoredCall], None],
    reply: Reply,
) -> None:
    provide(*ALL, idempotency_header=None)
    session_id = begin(client, put, desk, deadline_s=5, value_of_second=0.0)
    (visits,) = order_all(desk, session_id)
    later = partial(act_later, desk, timedelta(seconds=6))
    assert later(service.advance, session_id) is None
    beside(client, visits.call)

    for _ in range(2):
        later(service.settle, service.CallResult(visits, reply, 1))

    spent = micros(get(client, f"/predict/{session_id}")["budget"]["spent"])
    is_free = reply.status == 500 and beside is not settle_by_hand
    is_free |= beside is reverse_by_hand
    assert spent == (0 if is_free else 1_000)
    entries = get(client, f"/ledger?session={session_id}")["items"]
    kinds = sorted(entry["kind"] for entry in entries)
    assert kinds == (["charge", "reversal"] if is_free else ["charge"])
    if beside not in (reverse_by_hand, remove_provider):
        check_books(client, desk, session_id)


def test_the_receipt_of_a_run_says_what_it_did_not_wait_for(
    client: TestClient, put: Put, provide: Provide, desk: Desk
) -> None:
    """It stays as it was written when the answer comes."""
    provide(*ALL)
    session_id = begin(client, put, desk, deadline_s=5)
    orders = order_all(desk, session_id)
    act_later(desk, timedelta(seconds=6), service.advance, session_id)
    receipt = get(client, f"/predict/{session_id}/receipt")

    for order in reversed(orders):
        act_later(desk, timedelta(seconds=7), service.settle, result_of(order))

    assert [call["state"] for call in receipt["bought"]] == ["in_doubt"] * 3
    assert micros(receipt["budget"]["spent"]) == 651_000
    assert get(client, f"/predict/{session_id}/receipt") == receipt
    assert get(client, f"/predict/{session_id}")["pending"] == []
    check_books(client, desk, session_id)


def test_calls_of_deleted_providers_are_charged_and_taken(
    client: TestClient, put: Put, provide: Provide, desk: Desk
) -> None:
    provide(*ALL)
    session_id = begin(client, put, desk)
    orders = order_all(desk, session_id)
    for name in ALL:
        assert client.delete(f"/providers/{name}").is_success

    for order in orders:
        desk.act("A", service.settle, result_of(order))

    session = get(client, f"/predict/{session_id}")
    assert session["run"]["state"] == "ended"
    assert micros(session["budget"]["spent"]) == 651_000


def test_a_failure_beside_a_call_loses_neither(
    decide: Decide,
    provide: Provide,
    vendors: Vendors,
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provide(*ALL)
    settle, failed = service.settle, []

    def fail_once(db: Any, buying: Any, result: Any, at: Any) -> Any:
        if not failed:
            failed.append(result)
            raise RuntimeError("the database is away")
        return settle(db, buying, result, at)

    monkeypatch.setattr("askless.app.buyer.buyer.runs.settle", fail_once)

    session: Json = decide(run=TOGETHER)

    assert session["run"]["state"] == "ended"
    billed = sum(charge.micros for charge in vendors.bill)
    assert micros(session["budget"]["spent"]) == billed
    states = {call.state for call in desk.calls(session["id"])}
    assert not states & {*calls.ON_THE_WAY}


def test_an_answer_is_settled_once_the_database_is_there_again(
    decide: Decide, provide: Provide, engine: sa.Engine, desk: Desk
) -> None:
    """Also where the run has ended meanwhile, and nobody would ask again."""
    provide(*ALL, idempotency_header=None)
    failed = []

    def fail_once(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("UPDATE calls SET") and "latency_ms" in statement:
            failed.append(statement)
            if len(failed) == 1:
                raise OperationalError(statement, None, Exception("away"))

    event.listen(engine, "before_cursor_execute", fail_once)

    session = decide(run=TOGETHER)

    wait_until(lambda: "in_doubt" not in states_of(desk, session))

    assert failed
    assert {*states_of(desk, session)} == {"settled"}


def states_of(desk: Desk, session: Json) -> list[str]:
    return [call.state for call in desk.calls(session["id"])]
