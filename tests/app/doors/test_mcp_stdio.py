"""`askless mcp`, started and asked by the client of the protocol's own library."""

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
import sqlalchemy as sa
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from askless.app.cli.serving import mcp as command
from askless.app.doors.mcp import greeting
from askless.app.service import keys
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import transaction as transaction_of
from askless.core.errors import RefusedError
from askless.core.model.model import Model
from tests.app.clinic import Make, clinic
from tests.app.tenants import store_model, transaction

pytest_plugins = ["tests.app.conftest_keys"]

Run = Callable[[Callable[[Client], Awaitable[None]]], None]


@pytest.fixture
def run_agent(settings: Settings, engine: sa.Engine, tmp_path: Path) -> Any:
    """Start the command with some words and variables; let an agent ask it."""
    with transaction(engine) as db:
        store_model(db, Model("clinic", clinic(), "disease"), datetime.now(UTC))

    def run(
        ask: Callable[[Client], Awaitable[None]],
        *words: str,
        mode: Any = "auto",
        **variables: str,
    ) -> None:
        ours = {k: v for k, v in os.environ.items() if not k.startswith("ASKLESS_")}
        here = {"ASKLESS_HOME": str(tmp_path), "ASKLESS_DATABASE_URL": settings.url}
        started = StdioServerParameters(
            command=sys.executable,
            args=["-m", "askless.app.cli", "mcp", *words],
            env={**ours, **here, **variables},
        )

        async def talk() -> None:
            with anyio.fail_after(120):
                async with Client(started, mode=mode) as client:
                    await ask(client)

        anyio.run(talk)

    return run


def test_agent_works_through_a_case(run_agent: Any) -> None:
    async def ask(client: Client) -> None:
        listed = (await client.list_tools()).tools
        hints = {one.name: one.annotations for one in listed if one.annotations}
        reads = [name for name, hint in hints.items() if hint.read_only_hint]
        again = [name for name, hint in hints.items() if hint.idempotent_hint]
        assert reads == ["list_models", "ledger"]
        assert again == ["answer", "correct_or_refuse", "stop_case"]
        # The client checks each result by the schema of its tool.
        wish = {"model": "clinic", "budget": 12}
        case = (await client.call_tool("start_case", wish)).structured_content
        while case["question"] is not None and not case["should_stop"]:
            given = {"feature": case["question"]["feature"], "outcome": "refused"}
            tool = "correct_or_refuse"
            if given["feature"] == "age":
                given, tool = {"answers": [{"feature": "age", "value": 63}]}, "answer"
            told = await client.call_tool(tool, {"case": case["case"], **given})
            case = told.structured_content
        told = await client.call_tool("stop_case", {"case": case["case"]})
        assert told.structured_content["spent"] == 1.0
        charges = await client.call_tool("ledger", {"case": case["case"]})
        assert [item["feature"] for item in charges.structured_content["items"]] == [
            "age"
        ]

    for mode in ("auto", "legacy"):
        run_agent(ask, mode=mode)


def test_what_is_sent_at_once_is_answered_once(tmp_path: Path) -> None:
    wish = {"capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    for version in ("2025-06-18", "1999-01-01"):
        sent = [
            {"id": 1, "method": "initialize"}
            | {"params": {"protocolVersion": version, **wish}},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/list"},
            {"id": 3, "method": "ping"},
        ]
        lines = [json.dumps({"jsonrpc": "2.0", **message}) for message in sent]

        with subprocess.Popen(
            [sys.executable, "-m", "askless.app.cli", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"ASKLESS_HOME": str(tmp_path / version)},
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n".join(lines) + "\n")
            process.stdin.flush()
            told = [json.loads(process.stdout.readline()) for _ in range(3)]
            process.stdin.close()
            rest = process.stdout.read()

        assert sorted(message["id"] for message in told) == [1, 2, 3]
        assert told[0]["result"]["serverInfo"]["name"] == "askless"
        assert (rest, process.returncode) == ("", 0)


def test_who_we_are_is_told_at_once_as_the_server_tells_it(tmp_path: Path) -> None:
    prefix = "io.modelcontextprotocol"
    meta = {
        f"{prefix}/protocolVersion": "2026-07-28",
        f"{prefix}/clientInfo": {"name": "x", "version": "1"},
        f"{prefix}/clientCapabilities": {},
    }
    request = {"jsonrpc": "2.0", "method": "server/discover"}
    lines = [request | {"id": key, "params": {"_meta": meta}} for key in (1, 2)]

    done = subprocess.run(
        [sys.executable, "-m", "askless.app.cli", "mcp"],
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        env=os.environ | {"ASKLESS_HOME": str(tmp_path)},
        check=True,
    )
    told = {key: greeting.answer(json.dumps(lines[key - 1])) for key in (1, 2)}

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2]
    assert all(answer == told[answer["id"]] for answer in answers)
    older = meta | {f"{prefix}/protocolVersion": "2025-06-18"}
    for broken in (older, {}, meta | {f"{prefix}/clientInfo": 1}):
        line = json.dumps(lines[0] | {"params": {"_meta": broken}})
        assert greeting.answer(line) is None


def test_the_first_answer_imports_no_service() -> None:
    program = (
        "import sys, askless.app.cli.serving.mcp, askless.app.doors.mcp.greeting\n"
        "print(*sys.modules)"
    )
    done = subprocess.check_output([sys.executable, "-c", program], text=True)

    heavy = {"mcp", "numpy", "numba", "sqlalchemy", "fastapi", "rich", "pyarrow"}
    assert heavy & set(done.split()) == set()


def test_a_key_gives_its_tenant_scopes_and_name(
    run_agent: Any, key: Make, engine: sa.Engine
) -> None:
    headers = key("predict:write", "models:read", "ledger:read", tenant="other")
    token = headers["Authorization"].removeprefix("Bearer ")
    with transaction_of(engine, None, is_read=True) as db:
        tenant_id = keys.find_tenant(db, "other")
    with transaction_of(engine, tenant_id) as db:
        store_model(db, Model("theirs", clinic(), "disease"), datetime.now(UTC))

    async def ask(client: Client) -> None:
        (listed,) = (await client.call_tool("list_models")).structured_content["items"]
        assert listed["name"] == "theirs"
        wish = {"model": "theirs", "budget": 12}
        case = (await client.call_tool("start_case", wish)).structured_content["case"]
        given = {"case": case, "answers": [{"feature": "age", "value": 63}]}
        await client.call_tool("answer", given)
        told = await client.call_tool("ledger")
        assert told.structured_content["items"][0]["key"] == headers["X-Key"]

    run_agent(ask, ASKLESS_MCP_KEY=token)


def test_a_key_that_is_none_is_refused_by_each_call(run_agent: Any) -> None:
    async def ask(client: Client) -> None:
        told = await client.call_tool("list_models")
        assert told.is_error
        assert "/problems/unauthorized" in told.content[0].text  # type: ignore[union-attr]  # a text

    run_agent(ask, ASKLESS_MCP_KEY="askl_1_x")


def test_unknown_tenant_and_missing_extra_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASKLESS_HOME", str(tmp_path))
    with pytest.raises(RefusedError, match="must be the name of a tenant"):
        command.serve_agent("nobody")

    # As if the package were not installed.
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(RefusedError, match=r"pip install 'askless\[server,mcp\]'"):
        command.serve_agent()
