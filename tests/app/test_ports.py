"""A port that is taken is named before anything is installed or started."""

import asyncio
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
import uvicorn

from askless.app.cli.serving.service import bind
from askless.app.logs import PlainLines
from askless.app.processes import ports
from askless.app.server import Server
from askless.core.errors import RefusedError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def taken() -> Iterator[int]:
    """The usual port, which somebody has."""
    with closing(socket.socket()) as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):
            other.bind((ports.HOST, ports.USUAL))
            other.listen()
        yield ports.USUAL


def test_next_free_port_is_taken_and_said(
    taken: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with bind(ports.HOST, None) as bound:
        port = bound.getsockname()[1]

    assert port > taken
    assert capsys.readouterr().out == f"Port 8000 is taken: it is {port} instead.\n"


def test_port_that_was_named_is_taken_or_refused(taken: int) -> None:
    with pytest.raises(RefusedError, match=rf"--port: must be free.*{taken}"):
        bind(ports.HOST, taken)


def test_make_names_a_taken_port_before_it_installs(taken: int, tmp_path: Path) -> None:
    command = ["make", "demo", f"PORT={taken}", f"VENV={tmp_path / 'venv'}"]
    # Of a `make` that runs these tests.
    variables = {key: text for key, text in os.environ.items() if "MAKE" not in key}

    done = subprocess.run(
        [*command, f"PYTHON={sys.executable}"],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert f"Port {taken} can't be used" in done.stderr
    assert "Setting up" not in done.stdout
    assert not (tmp_path / "venv").exists()


def test_addresses_are_told_once_when_kernels_are_there() -> None:
    told: list[str] = []
    app = SimpleNamespace(state=SimpleNamespace(is_warm=asyncio.Event()))
    server = Server(uvicorn.Config(app))  # type: ignore[arg-type]  # no call comes
    server.tell = lambda: told.append("here")

    asyncio.run(server.on_tick(1))
    before = [*told]
    app.state.is_warm.set()
    asyncio.run(server.on_tick(2))
    asyncio.run(server.on_tick(3))

    assert (before, told) == ([], ["here"])


def test_line_for_a_terminal_is_short() -> None:
    record = logging.makeLogRecord(
        {"msg": "worker.lost", "levelno": 30, "levelname": "WARNING"}
    )
    record.fields = {"pid": 7}

    assert PlainLines().format(record)[8:] == " warning worker.lost pid=7"
