"""Who may call, from where, how often, and what is refused in which words."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.doors.mcp.greeting import answer
from askless.app.main import create_app
from askless.app.settings.settings import Settings
from askless.core.model.model import Model
from tests.app.clinic import Json, Make, Start, clinic
from tests.app.doors.agents import OLDER_VERSION, VERSION, Agent
from tests.app.tenants import store_model, transaction
from tests.kept import Applications

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]
DOORS = ["mcp"]

both_versions = pytest.mark.parametrize("version", [VERSION, OLDER_VERSION])
GIVEN = [{"feature": "age", "value": 63}]


@pytest.fixture
def agent(client: TestClient) -> Agent:
    return Agent(client.post)


@pytest.fixture
def asking(
    settings: Settings, engine: sa.Engine, applications: Applications
) -> FastAPI:
    """The application where keys are asked for, with a model of the first tenant."""
    with transaction(engine) as db:
        store_model(db, Model("clinic", clinic(), "disease"), datetime.now(UTC))
    more = {"authentication": True}
    return applications.find(settings.model_copy(update=more), is_local=True)


@pytest.fixture
def guarded(asking: FastAPI, applications: Applications) -> Any:
    with applications.client(asking, "http://127.0.0.1") as made:
        yield made


def kind(told: str) -> str:
    return str(json.loads(told)["type"]).removeprefix("/problems/")


def test_a_wrong_key_is_refused_where_none_is_needed(client: TestClient) -> None:
    headers = {"Authorization": "Bearer askl_1_x"}

    assert Agent(client.post, headers=headers).send("tools/list").status_code == 401


@both_versions
def test_scopes_are_those_of_the_api(
    guarded: TestClient, key: Make, version: str
) -> None:
    def agent_of(*scopes: str) -> Agent:
        return Agent(guarded.post, version, key(*scopes))

    may_read, may_predict = agent_of("models:read"), agent_of("predict:write")
    case = may_predict.do("start_case", model="clinic", budget=9)["case"]

    assert may_read.do("list_models")["items"][0]["name"] == "clinic"
    assert kind(may_read.refusal("start_case", model="clinic", budget=9)) == "forbidden"
    assert kind(may_read.refusal("stop_case", case=case)) == "forbidden"
    assert kind(may_read.refusal("ledger", case=case)) == "forbidden"
    assert kind(may_predict.refusal("list_models")) == "forbidden"
    told = may_predict.send("resources/read", {"uri": f"askless://cases/{case}"}).json()
    assert told["error"]["data"]["type"] == "/problems/forbidden"
    assert agent_of("ledger:read").do("ledger", case=case)["items"] == []


def test_charges_are_in_the_name_of_the_key(guarded: TestClient, key: Make) -> None:
    headers = key()
    agent = Agent(guarded.post, headers=headers)
    case = agent.do("start_case", model="clinic", budget=9)["case"]

    agent.do("answer", case=case, answers=GIVEN)

    (entry,) = agent.do("ledger", case=case)["items"]
    assert (entry["key"], entry["amount"]) == (headers["X-Key"], 1.0)


def test_nothing_of_another_tenant_is_shown_or_changed(
    guarded: TestClient, key: Make
) -> None:
    ours = Agent(guarded.post, headers=key())
    theirs = Agent(guarded.post, headers=key(tenant="other"))
    case = ours.do("start_case", model="clinic", budget=9)["case"]

    assert theirs.do("list_models")["items"] == []
    assert theirs.do("ledger")["items"] == []
    assert kind(theirs.refusal("start_case", model="clinic", budget=9)) == "not-found"
    for tool, more in (
        ("answer", {"answers": GIVEN}),
        ("correct_or_refuse", {"feature": "age", "outcome": "refused"}),
        ("stop_case", {}),
        ("ledger", {}),
    ):
        assert kind(theirs.refusal(tool, case=case, **more)) == "not-found", tool
    for uri in (f"askless://cases/{case}", "askless://models/clinic/card"):
        told = theirs.send("resources/read", {"uri": uri}).json()
        assert told["error"]["data"]["type"] == "/problems/not-found"
    arguments = {"model": "clinic", "budget": "9"}
    prompt = {"name": "work_through_a_case", "arguments": arguments}
    told = theirs.send("prompts/get", prompt).json()
    assert told["error"]["data"]["type"] == "/problems/not-found"
    assert ours.do("answer", case=case, answers=GIVEN)["version"] == 2


@both_versions
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1:8000"}, 200),
        ({"Host": "[::1]:8000"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1"}, 200),
    ],
)
def test_foreign_hosts_and_origins_are_refused(
    client: TestClient, headers: dict[str, str], status: int, version: str
) -> None:
    agent = Agent(client.post, version, headers)

    assert agent.send("tools/list").status_code == status


def test_named_hosts_and_origins_are_answered(settings: Settings) -> None:
    more = {"hosts": ["api.example.org"], "origins": ["https://app.example.org"]}
    app = create_app(settings.model_copy(update=more), is_local=True)
    headers = {"Host": "api.example.org", "Origin": "https://app.example.org"}
    asked = ("mcp-protocol-version", "mcp-method", "mcp-name", "authorization")
    with TestClient(app, base_url="http://127.0.0.1") as client:
        preflight = client.options(
            "/mcp",
            headers={
                **headers,
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": ", ".join(asked),
            },
        )
        # Since a name is named, keys are asked for; that comes after host and origin.
        assert Agent(client.post, headers=headers).send("tools/list").status_code == 401

    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == headers["Origin"]


def test_there_are_neither_streams_nor_sessions_to_end(client: TestClient) -> None:
    for method in ["GET", "PUT", "PATCH", "DELETE"]:
        response = client.request(method, "/mcp")

        assert response.status_code == 405
        assert response.headers["allow"] == "POST, OPTIONS"


@pytest.mark.parametrize("asked", [OLDER_VERSION, "2024-11-05", "1999-01-01"])
def test_the_first_answer_over_stdio_is_the_servers(
    client: TestClient, asked: str
) -> None:
    wish = {"capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    params = {"protocolVersion": asked, **wish}
    request = {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": params}

    headers, _ = Agent(client.post, OLDER_VERSION).message("initialize", params)
    served = client.post("/mcp", json=request, headers=headers).json()

    assert answer(json.dumps(request)) == served


@pytest.mark.parametrize(
    "line",
    [
        *("", "x", "[]", "3", "{}", "[" * 100_000, '{"jsonrpc": "2.0"}'),
        '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}',
        '{"jsonrpc": "2.0", "method": "initialize", "params": null}',
        '{"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}',
    ],
)
def test_another_first_line_is_the_servers_to_answer(line: str) -> None:
    assert answer(line) is None


@both_versions
def test_arguments_that_break_a_rule_are_refused_by_their_names(
    client: TestClient, start: Start, version: str
) -> None:
    agent, case = Agent(client.post, version), start(20)["id"]
    wrong: list[tuple[str, Json, str]] = [
        ("list_models", {"colour": 1}, "colour"),
        ("list_models", {"limit": 0}, "limit"),
        ("list_models", {"after": "x"}, "after"),
        ("start_case", {"model": "clinic"}, "budget"),
        ("start_case", {"model": "clinic", "budget": "much"}, "budget"),
        ("start_case", {"model": "clinic", "budget": -1}, "budget"),
        ("start_case", {"model": "clinic", "budget": 1, "known": {"x": 1}}, "known.x"),
        ("answer", {"case": case}, "answers"),
        ("answer", {"case": case, "answers": []}, "answers"),
        ("answer", {"case": case, "answers": GIVEN * 2}, "answers[1].feature"),
        (
            "answer",
            {"case": case, "answers": [{"feature": "age", "outcome": "refused"}]},
            "answers[0].outcome",
        ),
        (
            "answer",
            {"case": case, "answers": [{"feature": "age", "value": "SECRET"}]},
            "answers[0].value",
        ),
        ("answer", {"answers": GIVEN}, "case"),
        ("answer", {"case": case, "answers": GIVEN, "version": True}, "version"),
        ("correct_or_refuse", {"case": case, "feature": "age"}, "outcome"),
        (
            "correct_or_refuse",
            {"case": case, "feature": "age", "outcome": "ordered"},
            "outcome",
        ),
        (
            "correct_or_refuse",
            {"case": case, "feature": "age", "outcome": "value"},
            "answers[0].value",
        ),
        ("stop_case", {"case": case, "why": 1}, "why"),
        ("ledger", {"case": 1}, "case"),
    ]
    for tool, arguments, name in wrong:
        told = agent.refusal(tool, **arguments)

        assert kind(told) == "invalid-request", (tool, arguments)
        assert json.loads(told)["errors"][0]["field"] == name, (tool, arguments)
        assert "SECRET" not in told
    assert agent.do("stop_case", case=case)["version"] == 2


@pytest.mark.parametrize("engine_name", ["sqlite", "postgresql"], indirect=True)
def test_a_cursor_that_no_page_has_is_refused_by_its_field(agent: Agent) -> None:
    for odd in ("\u00b2_x", "1_", "1_\0", "-1_x", "123456789012345678_x"):
        told = agent.send("resources/list", {"cursor": odd}).json()["error"]
        refused = json.loads(agent.refusal("list_models", after=odd))

        assert told["code"] == -32602, odd
        assert told["data"]["errors"][0]["field"] == "after", odd
        assert refused["errors"][0]["field"] == "after", odd


@pytest.mark.parametrize("engine_name", ["sqlite", "postgresql"], indirect=True)
@both_versions
def test_unknown_names_are_errors_of_the_protocol(
    client: TestClient, version: str
) -> None:
    agent = Agent(client.post, version)
    for method, params in (
        ("tools/call", {"name": "open_door", "arguments": {}}),
        ("resources/read", {"uri": "file:///etc/passwd"}),
        ("resources/read", {"uri": "askless://models/none/card"}),
        ("resources/read", {"uri": "askless://models/%00/card"}),
        ("resources/read", {"uri": "askless://cases/%00"}),
        ("prompts/get", {"name": "other", "arguments": {}}),
        ("prompts/get", {"name": "work_through_a_case", "arguments": {}}),
        (
            "prompts/get",
            {
                "name": "work_through_a_case",
                "arguments": {"model": "m", "budget": "much"},
            },
        ),
    ):
        told = agent.send(method, params)

        assert told.status_code < 500
        assert told.json()["error"]["code"] == -32602, method


def test_no_case_that_is_closed_or_erased_takes_answers(
    client: TestClient, agent: Agent, start: Start
) -> None:
    case = start(20)["id"]
    agent.do("stop_case", case=case)
    assert kind(agent.refusal("answer", case=case, answers=GIVEN)) == "session-closed"

    client.delete(f"/predict/{case}")

    assert kind(agent.refusal("answer", case=case, answers=GIVEN)) == "session-closed"
    erased = agent.do("stop_case", case=case)
    assert (erased["question"], erased["chance"], erased["state"]) == (
        *(None, None),
        "closed",
    )


@both_versions
def test_a_mistake_of_ours_tells_nothing(
    app: FastAPI,
    client: TestClient,
    start: Start,
    version: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    case = start(20)["id"]
    app.state.loaded = None

    told = Agent(client.post, version).refusal("answer", case=case, answers=GIVEN)

    assert kind(told) == "internal"
    assert "Attribute" not in told
    assert [
        record.message for record in caplog.records if record.levelno >= logging.ERROR
    ] == ["http.crashed"]


def test_log_names_the_tool_and_no_value(
    agent: Agent, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    case = start(20)["id"]
    caplog.set_level(logging.INFO)

    agent.do("answer", case=case, answers=[{"feature": "age", "value": 63.25}])

    lines = [getattr(record, "fields", {}) for record in caplog.records]
    (line,) = [line for line in lines if line.get("called")]
    assert (line["called"], line["session"], line["charged"]) == ("answer", case, 1.0)
    assert line["route"] == "/mcp"
    assert "63.25" not in str(lines)
