"""OpenTelemetry: sent where it is asked for, to a collector of ours, and no value."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("opentelemetry.exporter")

ROOT = Path(__file__).resolve().parents[2]
CANARY = "canary-4711"
# In a process of its own: what FastAPI sets up there is for the whole process.
CALLS = f"""
import sys
from pathlib import Path
from askless.app.main import create_app
from askless.app.settings.settings import Settings
from tests.app.clinic import local_client

def crash():
    raise RuntimeError("{CANARY}")

for is_on in (False, True):
    app = create_app(Settings(home=Path(sys.argv[1]), telemetry=is_on), is_local=True)
    app.add_api_route("/crash", crash, response_model=None)
    with local_client(app, raise_server_exceptions=False) as client:
        client.get("/livez")
        known = {{"model": "{CANARY}", "known": {{"age": "{CANARY}"}}}}
        client.post("/predict" if is_on else "/nowhere", json=known)
        client.get("/crash")
"""


class Collector(ThreadingHTTPServer):
    """Keeps what is sent to it, by path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.found: dict[str, bytes] = {}


class Receiver(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.found[self.path] = self.server.found.get(self.path, b"") + body
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.mark.slow
def test_what_is_asked_for_is_sent_and_tells_no_value(
    collector: Collector, tmp_path: Path
) -> None:
    environment = os.environ | {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
        "NO_PROXY": "127.0.0.1",
    }

    done = subprocess.run(
        [sys.executable, "-c", CALLS, str(tmp_path)],
        cwd=ROOT,
        env=environment,
        check=False,
        capture_output=True,
    )

    assert done.returncode == 0, done.stderr
    assert set(collector.found) == {"/v1/traces", "/v1/metrics"}
    sent = b"".join(collector.found.values())
    assert b"POST /predict" in sent
    # While it is off nothing is sent; of probes never.
    assert b"/nowhere" not in sent
    assert b"/livez" not in sent
    assert CANARY.encode() not in sent
