"""Who carries a run out, whatever others do to it while a call is on its way."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.records import StoredCall
from askless.app.service.buying import recovery
from askless.app.service.buying import runs as service
from askless.app.service.buying.calling.sending import Reply
from askless.app.service.buying.turns import Buying, CallOrder
from askless.app.service.loaded import LoadedModels
from askless.app.settings.settings import Settings
from askless.app.store.buying import calls
from tests.app.buying.conftest import DOMAINS, Provide, shop
from tests.app.clinic import Put
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]

Made = TypeVar("Made")
SILENT_S, ALIVE_S = -1.0, 60.0
ANSWER = Reply(200, b'{"visits": 20}')
Json = dict[str, Any]
Beside = Callable[[TestClient, str], object]


def patch(state: str | None) -> Beside:
    return lambda client, path: client.patch(path, json={"run": state})


def erase(client: TestClient, path: str) -> object:
    return client.delete(path)


def stop(client: TestClient, path: str) -> object:
    return client.post(f"{path}/stop")


class Desk:
    """Buyers, step by step: each is known by its name."""

    def __init__(self, engine: sa.Engine, settings: Settings) -> None:
        self.engine, self.settings = engine, settings
        self.loaded = LoadedModels()

    def claim(self, holder: str, timeout_s: float = ALIVE_S) -> list[str]:
        with transaction(self.engine) as db:
            claimed = service.claim(db, holder, timeout_s, 10)
        return [run.session_id for run in claimed]

    def act(self, holder: str, act: Callable[..., Made], asked: Any) -> Made:
        at = self.settings.moment_at(datetime.now(UTC))
        with transaction(self.engine) as db:
            return act(db, self.buying(holder), asked, at)

    def buying(self, holder: str) -> Buying:
        return Buying(self.loaded, holder, None)

    def leaves(self, order: CallOrder) -> bool:
        with transaction(self.engine) as db:
            return service.mark_sent(db, order.call.id, datetime.now(UTC))

    def calls(self, session_id: str) -> list[StoredCall]:
        with transaction(self.engine, is_read=True) as db:
            return calls.list_of_session(db, session_id)


@pytest.fixture
def desk(engine: sa.Engine, settings: Settings) -> Desk:
    return Desk(engine, settings)


@pytest.fixture
def begun(client: TestClient, put: Put, provide: Provide, desk: Desk) -> CallOrder:
    """The first call of a run, reserved by buyer A."""
    provide("firmo", "visits", "score", idempotency_header=None)
    body = {"model": put(shop(), "shop"), "budget": 1.0, "run": True}
    session = client.post("/predict", json=body | {"keys": {"domain": DOMAINS[20]}})
    assert desk.claim("A") == [session.json()["id"]]
    [order] = desk.act("A", recovery.recover, session.json()["id"])
    assert isinstance(order, CallOrder)
    return order


def session_of(order: CallOrder) -> str:
    assert order.call.session_id is not None
    return order.call.session_id


def held(client: TestClient) -> float:
    amount: float = client.get("/providers/visits").json()["held"]
    return amount


@pytest.mark.parametrize("beside", [patch("paused"), patch(None), erase, stop])
def test_a_call_whose_buyer_died_is_in_doubt_whatever_was_done_beside(
    client: TestClient, desk: Desk, begun: CallOrder, beside: Beside
) -> None:
    session_id = session_of(begun)
    assert desk.leaves(begun)
    beside(client, f"/predict/{session_id}")

    assert desk.claim("B") == []
    assert desk.claim("B", SILENT_S) == [session_id]
    desk.act("B", recovery.recover, session_id)

    assert [call.state for call in desk.calls(session_id)] == ["in_doubt"]
    assert held(client) == 0
    session = client.get(f"/predict/{session_id}").json()
    assert session["budget"]["spent"] == 0.001
    assert desk.claim("C", SILENT_S) == []


@pytest.mark.parametrize("beside", [patch("paused"), patch(None), erase, stop])
def test_a_call_that_waits_for_its_turn_does_not_leave_after_that(
    client: TestClient, desk: Desk, begun: CallOrder, beside: Beside
) -> None:
    session_id = session_of(begun)
    beside(client, f"/predict/{session_id}")

    assert not desk.leaves(begun)
    release = partial(recovery.release, call_id=begun.call.id)
    assert desk.act("A", release, session_id) is None

    assert [call.state for call in desk.calls(session_id)] == ["released"]
    assert held(client) == 0


def test_a_run_that_goes_on_stays_with_whom_a_call_is_on_its_way(
    client: TestClient, desk: Desk, begun: CallOrder
) -> None:
    """Another buyer would take the call for lost, and put it in doubt."""
    session_id = session_of(begun)
    assert desk.leaves(begun)
    for state in ("paused", "buying"):
        assert client.patch(f"/predict/{session_id}", json={"run": state}).is_success

    assert desk.claim("B") == []
    result = service.CallResult(begun, ANSWER, 1)
    assert isinstance(desk.act("A", service.settle, result), CallOrder)

    first = desk.calls(session_id)[0]
    assert (first.state, first.charged) == ("settled", 1_000)


def test_a_paused_run_that_is_stopped_stays_with_its_holder_too(
    client: TestClient, desk: Desk, begun: CallOrder
) -> None:
    session_id = session_of(begun)
    assert desk.leaves(begun)
    patch("paused")(client, f"/predict/{session_id}")
    stop(client, f"/predict/{session_id}")

    assert desk.claim("B") == []
    assert desk.act("A", service.settle, service.CallResult(begun, ANSWER, 1)) is None

    assert [call.state for call in desk.calls(session_id)] == ["settled"]
    shown = client.get(f"/predict/{session_id}").json()
    assert shown["run"]["state"] == "ended"


def test_a_buyer_that_was_taken_for_dead_settles_and_goes_no_further(
    desk: Desk, begun: CallOrder
) -> None:
    session_id = session_of(begun)
    assert desk.leaves(begun)
    assert desk.claim("B", SILENT_S) == [session_id]
    desk.act("B", recovery.recover, session_id)
    n_calls = len(desk.calls(session_id))

    late = service.CallResult(begun, ANSWER, 1)
    assert desk.act("A", service.settle, late) is None

    assert len(desk.calls(session_id)) == n_calls
    assert desk.calls(session_id)[0].state == "in_doubt"


def test_what_an_erased_case_has_on_its_way_is_charged_once(
    client: TestClient, desk: Desk, begun: CallOrder
) -> None:
    session_id = session_of(begun)
    assert desk.leaves(begun)
    erase(client, f"/predict/{session_id}")

    for _ in range(2):
        desk.act("A", service.settle, service.CallResult(begun, ANSWER, 1))

    assert [call.state for call in desk.calls(session_id)] == ["settled"]
    assert client.get(f"/predict/{session_id}").json()["budget"]["spent"] == 0.001
    assert (held(client), desk.claim("B", SILENT_S)) == (0, [])
