"""Many tool calls at once on one case: nothing is lost or charged twice."""

from collections import Counter
from functools import partial

import httpx
import sqlalchemy as sa

from askless.app.store import ledger, sessions
from tests.app.clinic import Json, many, model_json
from tests.app.doors.agents import OLDER_VERSION, VERSION, Agent
from tests.app.servers import at_once
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_server"]
DOORS = ["mcp"]

N_CALLS = 50


def begin(caller: httpx.Client, budget: float | None) -> str:
    raw = model_json(many(N_CALLS), "many")
    assert caller.post("/models", json=raw).status_code == 201
    wish = {"model": "many", "budget": budget, "stop": {"certain": False}}
    case: str = Agent(caller.post).do("start_case", **wish)["case"]
    return case


def call_at_once(caller: httpx.Client, answers: list[Json]) -> list[Json]:
    """Call `answer` with each of them in one moment, by both versions in turns."""
    calls = []
    for place, arguments in enumerate(answers):
        agent = Agent(caller.post, (VERSION, OLDER_VERSION)[place % 2])
        params = {"name": "answer", "arguments": arguments}
        calls.append(partial(agent.send, "tools/call", params))
    responses = at_once(*calls)
    assert {response.status_code for response in responses} == {200}
    return [response.json()["result"] for response in responses]


def accounts(engine: sa.Engine, case: str) -> tuple[int, int]:
    """What was spent by the session's row, and by the ledger."""
    with transaction(engine, is_read=True) as db:
        entries = ledger.list_of_session(db, case)
        return sessions.get(db, case).spent, sum(entry.amount for entry in entries)


def test_the_same_answer_at_once_is_charged_once(
    caller: httpx.Client, engine: sa.Engine
) -> None:
    case = begin(caller, None)
    given = {"case": case, "answers": [{"feature": "f0", "value": 1}]}

    results = call_at_once(caller, [given] * N_CALLS)

    assert {result["isError"] for result in results} == {False}
    charged = Counter(result["structuredContent"]["charged"] for result in results)
    assert charged == {0.0: N_CALLS - 1, 1.0: 1}
    assert accounts(engine, case) == (1_000_000, 1_000_000)


def test_of_other_answers_at_once_as_many_are_taken_as_the_budget_pays(
    caller: httpx.Client, engine: sa.Engine
) -> None:
    case = begin(caller, 20.5)
    given = [
        {"case": case, "answers": [{"feature": f"f{place}", "value": 1}]}
        for place in range(N_CALLS)
    ]

    results = call_at_once(caller, given)

    assert Counter(result["isError"] for result in results) == {False: 20, True: 30}
    assert accounts(engine, case) == (20_000_000, 20_000_000)
