"""A real server process on a free port, ended by its own pid."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
START_WITHIN_S = 120.0


@contextmanager
def serving(home: Path, port: int = 0, **settings: str) -> Iterator[str]:
    """Serve from a fresh folder, with a worker; return the address once it is ready.

    `settings` are variables of the environment. Without a port it takes a free one.
    """
    environment = (
        {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("ASKLESS_")
        }
        | {"ASKLESS_HOME": str(home), "PYTHONUNBUFFERED": "1"}
        | settings
    )
    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "askless.app.cli", "serve", "--port", str(port)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert server.stdout is not None
    try:
        said = server.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert found, (said, (home / "server.log").read_text())
        # A server behind a proxy says the proxy's address.
        address = f"http://127.0.0.1:{port}" if port else found[0]
        until(lambda: is_ready(address), START_WITHIN_S)
        yield address
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(40)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        server.stdout.close()


def is_ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/readyz", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def until(is_true: Callable[[], bool], within_s: float) -> None:
    """Poll until something is true, or fail."""
    deadline = time.monotonic() + within_s
    while not is_true():
        assert time.monotonic() < deadline, f"not within {within_s} s"
        time.sleep(0.05)
