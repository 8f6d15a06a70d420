"""The server is killed around each commit; the client alone sends again."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa

from askless import Client
from tests.app.chaos.proxy import Proxy
from tests.app.chaos.rows import count_rows, kept_from_writing, violations
from tests.app.clinic import clinic, model_json
from tests.app.servers import Server

pytest_plugins = ["tests.app.conftest_server"]
pytestmark = pytest.mark.chaos
Around = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    made = Proxy(server.listener.getsockname())
    yield made
    made.close()


@pytest.fixture
def client(proxy: Proxy) -> Iterator[Client]:
    with Client(proxy.url, retries=20, first_wait_s=0.1) as made:
        yield made


def undisturbed(call: Callable[[], Any]) -> Any:
    return call()


def play(client: Client, around: Around, things: dict[str, Any]) -> Any:
    """Do one of everything that changes something; return how a session ends."""
    dataset = around(lambda: client.upload(things["table"]))
    training = around(lambda: client.start_training(dataset, things["spec"]))
    around(lambda: client.cancel(training))
    model = around(lambda: client.import_model(things["model"], as_version=True))
    session = around(lambda: client.predict(model, budget=30, seed=7))
    around(lambda: session.answer("age", 63))
    around(lambda: session.give({"sex": "male"}, {"chol": "ordered", "ecg": "refused"}))
    around(lambda: session.change_budget(40))
    around(lambda: session.answer("chol", 250))
    around(session.stop)
    ledger = session.ledger()
    return described(session.raw), [
        (charge["feature"], charge["kind"], charge["amount"]) for charge in ledger
    ]


def described(session: dict[str, Any]) -> dict[str, Any]:
    """How a session stands, whichever it is."""
    return {
        key: value
        for key, value in session.items()
        if key not in ("id", "model", "expires_at", "created_at", "updated_at")
    }


@pytest.mark.parametrize("moment", ["before the commit", "after the commit"])
def test_a_server_killed_at_every_call_leaves_what_no_kill_leaves(
    moment: str,
    server: Server,
    proxy: Proxy,
    client: Client,
    engine: sa.Engine,
    things: dict[str, Any],
) -> None:
    n_kills = 0

    def killed_before(call: Callable[[], Any]) -> Any:
        """Kill the server while the request waits to write."""
        nonlocal n_kills
        n_kills += 1
        with ThreadPoolExecutor(1) as pool:
            with kept_from_writing(server.settings.url):
                proxy.has_request.clear()
                sent = pool.submit(call)
                assert proxy.has_request.wait(30)
                # That it has come to its statements; it can't get beyond them.
                threading.Event().wait(0.05)
                server.kill()
            return sent.result()

    def killed_after(call: Callable[[], Any]) -> Any:
        """Kill the server once it answers, and so has committed."""
        nonlocal n_kills
        n_kills += 1
        proxy.act = server.kill
        found = call()
        assert proxy.act is None
        return found

    empty = count_rows(engine)
    expected = play(client, undisturbed, things)
    once = count_rows(engine)
    around = killed_before if moment.startswith("before") else killed_after
    found = play(client, around, things)
    twice = count_rows(engine)

    assert found == expected
    assert n_kills == 10
    assert violations(engine) == []
    grown = {name: once[name] - empty[name] for name in once}
    assert {name: twice[name] - once[name] for name in twice} == grown


@pytest.fixture
def things(tmp_path: Any, table: bytes, spec: dict[str, Any]) -> dict[str, Any]:
    """What the calls are made with."""
    data, model = tmp_path / "t.csv", tmp_path / "m.json"
    data.write_bytes(table)
    model.write_text(json.dumps(model_json(clinic(), "clinic")))
    return {"table": data, "spec": spec, "model": model}
