"""Any message is answered: without a failure of ours, and without its traces.

`FUZZ=5000` sends so many, as `make test-fuzz` does.
"""

import io
import json
import logging
import os
from typing import Any

import anyio
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from mcp.server.stdio import stdio_server

from askless.app.doors.mcp.calls import Host
from askless.app.doors.mcp.server import make_server
from askless.app.doors.mcp.stdio import identify_by
from askless.app.doors.mcp.tools import TOOLS
from askless.app.http.plumbing.auth import ANYBODY
from askless.app.settings.settings import Settings
from tests.app.clinic import Start
from tests.app.doors.agents import META, OLDER_VERSION, VERSION, with_door

pytest_plugins = ["tests.app.conftest_http"]

many = examples(
    max_examples=int(os.environ.get("FUZZ", 2 * examples.default.max_examples)),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
METHODS = (
    *("tools/call", "tools/list", "resources/read", "resources/list", "prompts/get"),
    *("resources/templates/list", "prompts/list", "server/discover", "initialize"),
    *("ping", "subscriptions/listen", "logging/setLevel", "completion/complete"),
    *("notifications/cancelled", "notifications/initialized", "tasks/get", ""),
)
# Stands for the case that the test has started.
CASE = "the case"
WORDS = (
    *(CASE, "clinic", "age", "sex", "chol", "echo1", "value", "ordered", "refused"),
    *("male", "askless://models/clinic/card", "askless://cases/the case", "\x00", ""),
    *("work_through_a_case", "clinic@1", "%00", "askless://models/%2e%2e/card"),
)
FIELDS = (
    *("case", "answers", "feature", "outcome", "value", "version", "insist", "model"),
    *("budget", "known", "stop", "aim", "seed", "policy", "client_ref", "coverage"),
    *("accept_unseen", "prices", "costs", "limit", "after", "facts", "uri", "name"),
    *("arguments", "_meta", "cursor", "age", "confidence", "mean_budget"),
)
words = st.sampled_from(WORDS) | st.text(max_size=20)
numbers = st.integers() | st.floats() | st.sampled_from((0, 1, 60, 2**63, -1, 0.1))
plain = st.none() | st.booleans() | numbers | words
values = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS) | words, inner, max_size=4)
    ),
    max_leaves=8,
)
answers = st.fixed_dictionaries(
    {"feature": words}, optional={"value": plain, "outcome": words, "x": plain}
)
likely = st.fixed_dictionaries(
    {},
    optional={
        "case": st.just(CASE) | plain,
        "answers": st.lists(answers, max_size=3) | values,
        "feature": words,
        "outcome": words,
        "value": plain,
        "model": st.just("clinic") | plain,
        "budget": numbers | plain,
        "known": st.dictionaries(words, plain, max_size=3),
        "stop": values,
        "aim": values,
        "prices": values,
        "version": numbers,
        "limit": numbers,
        "after": words,
    },
)
arguments = st.fixed_dictionaries({}, optional={"": plain}) | likely | values
params = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(tuple(TOOLS)) | words,
        "arguments": arguments,
        "uri": words,
        "cursor": plain,
        "protocolVersion": st.sampled_from((VERSION, OLDER_VERSION)) | plain,
        "_meta": st.just(META) | values,
    },
)
messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | plain, "method": st.sampled_from(METHODS) | words},
    optional={"id": st.just(1) | plain, "params": params | values},
)
calls = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "id": st.integers(0, 9),
        "method": st.just("tools/call"),
        "params": st.fixed_dictionaries(
            {
                "name": st.sampled_from(tuple(TOOLS)),
                "arguments": likely,
                "_meta": st.just(META),
            }
        ),
    }
)
sent = calls | messages | st.lists(messages, max_size=2) | values


def text_of(message: Any, case: str) -> str:
    """The message as JSON, with halves of characters and NaN as they come."""
    return json.dumps(message).replace(CASE, case)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return with_door(settings)


@pytest.fixture
def case(start: Start) -> str:
    return str(start(60)["id"])


def mistakes(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Lines of the log that tell of a failure, with what failed."""
    return [
        f"{one.name}: {one.getMessage()} {one.exc_info}"
        for one in caplog.records
        if one.levelno >= logging.ERROR or one.exc_info
    ]


def named_in(message: Any) -> dict[str, str]:
    """The headers that repeat what a message names."""
    held = message if isinstance(message, dict) else {}
    params = held.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    told = {"Mcp-Method": held.get("method"), "Mcp-Name": name}
    return {
        header: value
        for header, value in told.items()
        if isinstance(value, str) and value.isascii() and value.isprintable()
    }


bodies = st.tuples(sent, st.sampled_from((VERSION, OLDER_VERSION, None, "x")))


@many
@given(bodies=bodies, is_named=st.booleans(), cut=st.none() | st.integers(1, 40))
def test_any_message_over_http_is_answered(
    client: TestClient,
    case: str,
    caplog: pytest.LogCaptureFixture,
    bodies: tuple[Any, str | None],
    is_named: bool,
    cut: int | None,
) -> None:
    message, version = bodies
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    if version is not None:
        headers["MCP-Protocol-Version"] = version
    if is_named:
        headers |= named_in(message)
    caplog.clear()

    # Most are whole; of the others the end is missing.
    content = text_of(message, case).encode()[: None if cut is None else -cut]
    response = client.post("/mcp", content=content, headers=headers)

    assert response.status_code < 500, response.text
    assert "Traceback" not in response.text
    assert '"/problems/internal"' not in response.text.replace("\\", "")
    assert mistakes(caplog) == []


@many
@given(raw=st.binary(max_size=200) | st.just(b"[" * 100_000) | st.just(b"9" * 6000))
def test_any_bytes_over_http_are_answered(
    client: TestClient, caplog: pytest.LogCaptureFixture, raw: bytes
) -> None:
    caplog.clear()
    for version in ({"MCP-Protocol-Version": VERSION}, {}):
        headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            **version,
        }

        response = client.post("/mcp", content=raw, headers=headers)

        assert response.status_code < 500, response.text
        assert "Traceback" not in response.text
    assert mistakes(caplog) == []


async def talk(app: FastAPI, lines: list[str]) -> list[Any]:
    """Let the server read lines from a file until its end; return what it wrote."""
    host = Host(app, identify_by(app, ANYBODY.tenant_id, None))
    server = make_server(host)
    written = io.StringIO()
    files = anyio.wrap_file(io.StringIO("\n".join(lines))), anyio.wrap_file(written)
    with anyio.fail_after(60):
        async with stdio_server(*files) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    return [json.loads(line) for line in written.getvalue().splitlines()]


@many
@given(lines=st.lists(sent, max_size=4))
def test_any_lines_over_stdio_are_answered(
    app: FastAPI,
    client: TestClient,
    case: str,
    caplog: pytest.LogCaptureFixture,
    lines: list[Any],
) -> None:
    assert client.portal is not None
    texts = [text_of(one, case) for one in lines]
    caplog.clear()

    told = client.portal.call(talk, app, texts)

    assert all(one["jsonrpc"] == "2.0" for one in told)
    assert "Traceback" not in json.dumps(told)
    assert mistakes(caplog) == []
