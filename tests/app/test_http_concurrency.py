"""Many answers at once, and servers that die: nothing is lost or charged twice."""

import json
import random
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from time import monotonic
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from askless.app.store import ledger, sessions
from tests.app.clinic import Json, many, model_json, said
from tests.app.servers import Server, at_once
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_server"]

N_CALLERS = 80
DEADLINE_S = 60.0


def begin(caller: httpx.Client, n_features: int, budget: float | None) -> Json:
    raw = model_json(many(n_features), "many")
    assert caller.post("/models", json=raw).status_code == 201
    stop = {"certain": False}
    body = {"model": "many", "budget": budget, "stop": stop}
    session: Json = caller.post("/predict", json=body).json()
    return session


def accounts(engine: sa.Engine, session_id: str) -> tuple[int, int]:
    """What was spent by the session's row, and by the ledger."""
    with transaction(engine, is_read=True) as db:
        session = sessions.get(db, session_id)
        entries = ledger.list_of_session(db, session_id)
    assert session is not None
    return session.spent, sum(entry.amount for entry in entries)


def test_of_many_answers_at_once_as_many_are_taken_as_the_budget_pays(
    caller: httpx.Client, engine: sa.Engine
) -> None:
    session = begin(caller, N_CALLERS, budget=40.5)
    path = f"/predict/{session['id']}/answers"
    bodies = [{"answers": [said(f"f{i}", 1)]} for i in range(N_CALLERS)]

    responses = at_once(*[partial(caller.post, path, json=body) for body in bodies])

    statuses = Counter(response.status_code for response in responses)
    after = caller.get(f"/predict/{session['id']}").json()
    assert statuses == {200: 40, 409: 40}
    assert accounts(engine, session["id"]) == (40_000_000, 40_000_000)
    assert len(after["answers"]) == 40
    assert after["version"] == 41


def test_the_same_answers_at_once_are_charged_once_and_none_is_lost(
    caller: httpx.Client, engine: sa.Engine
) -> None:
    session = begin(caller, 20, budget=None)
    path = f"/predict/{session['id']}/answers"
    bodies = [{"answers": [said(f"f{i % 20}", i % 20)]} for i in range(N_CALLERS)]

    responses = at_once(*[partial(caller.post, path, json=body) for body in bodies])

    after = caller.get(f"/predict/{session['id']}").json()
    assert {response.status_code for response in responses} == {200}
    assert accounts(engine, session["id"]) == (20_000_000, 20_000_000)
    assert {answer["feature"]: answer["value"] for answer in after["answers"]} == {
        f"f{i}": i for i in range(20)
    }
    assert after["version"] == 21


def test_versions_of_one_name_imported_at_once_all_differ(
    caller: httpx.Client,
) -> None:
    raw = model_json(many(1), "same")
    address = "/models?as_version=true"

    made = at_once(*[partial(caller.post, address, json=raw) for _ in range(16)])

    assert sorted(one.json()["version"] for one in made) == list(range(1, 17))


def test_of_imports_that_take_a_new_name_at_once_one_has_it(
    caller: httpx.Client,
) -> None:
    raw = model_json(many(1), "new")

    made = at_once(*[partial(caller.post, "/models", json=raw) for _ in range(8)])

    assert sorted(response.status_code for response in made) == [201] + [409] * 7


def test_a_name_has_one_champion_however_many_are_made_at_once(
    caller: httpx.Client,
) -> None:
    raw, address = model_json(many(1), "same"), "/models?as_version=true"
    ids = [caller.post(address, json=raw).json()["id"] for _ in range(6)]

    done = at_once(*[partial(caller.put, f"/models/{key}/champion") for key in ids])

    assert [response.status_code for response in done] == [200] * 6
    listed = caller.get("/models").json()["items"]
    assert sum(model["champion"] for model in listed) == 1


def insist(url: str, path: str, body: Json) -> httpx.Response:
    """Send a request until an answer comes back."""
    end = monotonic() + DEADLINE_S
    while True:
        try:
            return httpx.post(url + path, json=body, timeout=5, trust_env=False)
        except httpx.TransportError:
            assert monotonic() < end, "no answer in time"


def hang_up_after_commit(
    server: Server, engine: sa.Engine, session_id: str, path: str, body: Json
) -> None:
    """Send a request, kill the server once its commit is seen, read no response."""
    before, _ = accounts(engine, session_id)
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    end = monotonic() + DEADLINE_S
    with socket.create_connection(server.listener.getsockname()) as caller:
        caller.sendall(head.encode() + content)
        while accounts(engine, session_id)[0] == before:
            assert monotonic() < end, "no commit in time"
        server.kill()


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_an_answer_survives_the_death_of_the_server(
    server: Server, caller: httpx.Client, engine: sa.Engine
) -> None:
    """`tests/app/chaos/test_servers_killed.py` has it for every call."""
    session = begin(caller, 7, budget=7)
    path = f"/predict/{session['id']}/answers"
    bodies = [{"answers": [said(f"f{number}", number)]} for number in range(7)]
    moments = random.Random(0)
    times = []
    for _ in range(5):
        started = monotonic()
        insist(server.url, path, bodies[0])
        times.append(monotonic() - started)

    last: Any = None
    with ThreadPoolExecutor(1) as pool:
        for body in bodies[1:5]:
            sent = pool.submit(insist, server.url, path, body)
            wait([sent], timeout=moments.uniform(0, min(times)))
            server.kill()
            assert sent.result().status_code == 200
    for body in bodies[5:]:
        hang_up_after_commit(server, engine, session["id"], path, body)
        last = insist(server.url, path, body)
        assert last.status_code == 200

    assert {
        answer["feature"]: answer["value"] for answer in last.json()["answers"]
    } == {f"f{number}": number for number in range(7)}
    assert accounts(engine, session["id"]) == (7_000_000, 7_000_000)
    assert last.json()["version"] == 8
    with transaction(engine, is_read=True) as db:
        entries = ledger.list_of_session(db, session["id"])
    assert len(entries) == 7
