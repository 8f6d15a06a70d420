"""What the outermost layer logs and counts: causes, who hangs up, methods, units."""

import asyncio
import errno
import json
import logging
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy.exc import InternalError, OperationalError
from starlette.requests import ClientDisconnect

from askless.app.http.plumbing.deps import get_read_db
from askless.app.http.plumbing.layers.edge import OTHER, Exchange
from askless.app.http.plumbing.layers.metrics import MOST_UNITS, Metrics
from askless.app.logs import JsonLines
from tests.applications import OVERRIDES

pytest_plugins = ["tests.app.conftest_http"]
pytestmark = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)

SECRET = "SECRET"


class ReadOnlyError(Exception):
    """A driver raises this where PostgreSQL lets nobody write."""

    sqlstate = "25006"


class IdleError(Exception):
    """PostgreSQL says this of a transaction that it ended, since it stood still."""

    sqlstate = "25P03"


GONE = ClientDisconnect()


def failing(error: Exception) -> Callable[[], NoReturn]:
    def fail() -> NoReturn:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "status", "event"),
    [
        (RuntimeError(SECRET), 500, "http.crashed"),
        (OSError(errno.EIO, SECRET), 500, "http.crashed"),
        (OSError(errno.ENOSPC, "no space"), 503, "http.unavailable"),
        (OperationalError("", {}, Exception("away")), 503, "http.unavailable"),
        (InternalError("", {}, ReadOnlyError("read-only")), 503, "http.unavailable"),
        (InternalError("", {}, IdleError("idle")), 503, "http.unavailable"),
        (InternalError("", {}, Exception(SECRET)), 500, "http.crashed"),
        (ExceptionGroup("", [ValueError(SECRET), GONE]), 500, "http.crashed"),
    ],
)
def test_a_failure_of_ours_is_logged_once_and_tells_nothing(
    caplog: pytest.LogCaptureFixture,
    client: TestClient,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    status: int,
    event: str,
) -> None:
    caplog.set_level(logging.INFO, "askless")
    monkeypatch.setitem(OVERRIDES, get_read_db, failing(error))

    response = client.get("/models")

    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers.get("retry-after") == ("2" if status == 503 else None)
    assert SECRET not in response.text
    events = [
        record.getMessage() for record in caplog.records if record.name == "askless"
    ]
    assert events[-2:] == [event, "http.request"]
    assert events.count(event) == 1
    cause, line = (record.fields for record in caplog.records[-2:])  # type: ignore[attr-defined]
    assert cause["request_id"] == line["request_id"]
    assert line["error"] == type(error).__name__
    assert SECRET not in str(
        [record.__dict__.get("fields") for record in caplog.records]
    )


@pytest.mark.parametrize("error", [GONE, ExceptionGroup("", [GONE, GONE])])
def test_errors_of_hanging_up_alone_are_none(
    caplog: pytest.LogCaptureFixture,
    client: TestClient,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setitem(OVERRIDES, get_read_db, failing(error))

    assert client.get("/models").status_code == 499
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


@pytest.mark.usefixtures("engine_name")
def test_of_a_group_its_errors_are_logged() -> None:
    error = ExceptionGroup(SECRET, [ValueError(SECRET), ExceptionGroup("", [GONE])])
    try:
        failing(error)()
    except ExceptionGroup:
        record = logging.makeLogRecord({"exc_info": sys.exc_info()})

    line = json.loads(JsonLines().format(record))

    assert line["error"] == "ExceptionGroup"
    assert line["errors"] == ["ValueError", "ClientDisconnect"]
    assert SECRET not in str(line)


def exchange_of(app: FastAPI, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Call an application as a server does whose caller sends these messages."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/predict",
        "raw_path": b"/predict",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), (b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]  # as servers do
    return sent


@pytest.mark.parametrize("n_parts", [0, 1])
@pytest.mark.usefixtures("client")
def test_a_caller_who_hangs_up_is_499_and_no_error(
    app: FastAPI, caplog: pytest.LogCaptureFixture, n_parts: int
) -> None:
    caplog.set_level(logging.INFO)
    part = {"type": "http.request", "body": b'{"model":', "more_body": True}

    exchange_of(app, [part] * n_parts)

    line = caplog.records[-1]
    assert line.fields["status"] == 499  # type: ignore[attr-defined]
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


@pytest.mark.parametrize(
    ("age_s", "is_read", "is_gone"),
    [(9.0, True, True), (0.0, True, False), (9.0, False, False)],
)
@pytest.mark.usefixtures("engine_name")
def test_slow_answers_look_whether_the_caller_waits(
    age_s: float, is_read: bool, is_gone: bool
) -> None:
    async def receive() -> Any:
        return {"type": "http.disconnect"}

    exchange = Exchange("req", "GET", receive, receive, 1, is_read)  # type: ignore[arg-type]
    exchange.started -= age_s

    assert asyncio.run(exchange.has_hung_up()) == is_gone


@pytest.mark.usefixtures("engine_name")
def test_to_look_waits_for_nothing() -> None:
    async def wait() -> Any:
        await asyncio.Event().wait()

    exchange = Exchange("req", "GET", wait, wait, 1, True)  # type: ignore[arg-type]
    exchange.started -= 9.0

    assert not asyncio.run(exchange.has_hung_up())


def test_invented_methods_share_one_figure(client: TestClient) -> None:
    for number in range(3):
        client.request(f"BREW{number}", "/models")

    text = client.get("/metrics").text
    assert "BREW" not in text
    assert f'askless_requests_total{{method="{OTHER}",route="/models"' in text


@pytest.mark.usefixtures("engine_name")
def test_units_beyond_the_first_few_share_one_figure() -> None:
    metrics = Metrics()

    for number in range(MOST_UNITS + 5):
        exchange = Exchange("req", "POST", None, None, 1, True)  # type: ignore[arg-type]
        exchange.fields.update(charged=1.0, unit=f"unit{number}")
        metrics.count_request(exchange)

    value = metrics.registry.get_sample_value
    assert value("askless_charged_units_total", {"unit": "unit0"}) == 1
    assert value("askless_charged_units_total", {"unit": OTHER}) == 5
