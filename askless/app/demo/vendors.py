"""The vendors of the demo: a small server of its own process, on loopback alone.

`python -m askless.app.demo.vendors PORT`. Firmo has nothing of one company in four.
Registry hangs: of every third company it never answers the first request. Intent is
down for a while in every two minutes. A second request with a key gets the answer of
the first, as vendors with idempotency keys do.
"""

import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from askless.app.demo.leads import list_shown

PATH = "/v1/"
LATENCIES_S = {
    "mailcheck": 0.15,
    "webprobe": 0.3,
    "registry": 0.4,
    "firmo": 0.5,
    "intent": 0.7,
    "analyst": 0.9,
}
HANGING, EVERY, HANGS_S = "registry", 3, 30.0
FAILING, DOWN_FROM_S, DOWN_TO_S, PERIOD_S = "intent", 40.0, 60.0, 120.0
# Until a port that is taken is tried again.
TAKEN_S = 1.0
MOST_BYTES = 10_000
MOST_KEYS = 10_000
Reply = tuple[int, dict[str, Any]]


class Vendors:
    """The companies that vendors know, and the requests that they have seen."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.started = clock()
        self.seen: set[str] = set()
        self.lock = threading.Lock()
        self.leads = {lead.domain: lead for lead in list_shown()}
        self.places = {lead.domain: place for place, lead in enumerate(list_shown())}

    def is_down(self, vendor: str) -> bool:
        at = (self.clock() - self.started) % PERIOD_S
        return vendor == FAILING and DOWN_FROM_S <= at < DOWN_TO_S

    def hangs(self, vendor: str, domain: str, key: str) -> bool:
        """Return whether a request gets no answer: only the first with its key."""
        place = self.places.get(domain, 0)
        with self.lock:
            is_first = key not in self.seen
            if len(self.seen) < MOST_KEYS:
                self.seen.add(key)
        return vendor == HANGING and place % EVERY == 1 and is_first

    def answer(self, vendor: str, domain: object) -> Reply:
        """Return a status and a body; an unknown company has an empty answer."""
        if vendor not in LATENCIES_S:
            return 404, {"error": "no such vendor"}
        if not isinstance(domain, str):
            return 400, {"error": "domain is needed"}
        if self.is_down(vendor):
            return 503, {"error": "down for maintenance"}
        lead = self.leads.get(domain)
        return 200, {"company": None if lead is None else lead.answers[vendor]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "VendorServer"

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "0")
        n_bytes = min(int(length) if length.isdecimal() else 0, MOST_BYTES)
        try:
            document = json.loads(self.rfile.read(n_bytes))
        except ValueError:
            document = None
        domain = document.get("domain") if isinstance(document, dict) else None
        vendor = urlsplit(self.path).path.removeprefix(PATH)
        key = self.headers.get("Idempotency-Key", "")
        vendors = self.server.vendors
        if vendors.hangs(vendor, str(domain), key):
            time.sleep(HANGS_S)
            self.close_connection = True
            return
        time.sleep(LATENCIES_S.get(vendor, 0.0))
        self.reply(*vendors.answer(vendor, domain))

    def reply(self, status: int, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the buyer logs each call."""


class VendorServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, vendors: Vendors) -> None:
        self.vendors = vendors
        super().__init__(("127.0.0.1", port), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent where a client has left."""


def serve_vendors(port: int) -> None:
    """Serve until standard input ends, as it does with the process that started it."""
    # A terminal sends it to the whole group; the server ends its children itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=keep_serving, args=(port,), daemon=True).start()
    sys.stdin.buffer.read()


def keep_serving(port: int) -> None:
    """Serve; while others serve at the port, those of another process, wait."""
    while True:
        try:
            server = VendorServer(port, Vendors())
        except OSError:
            time.sleep(TAKEN_S)
        else:
            server.serve_forever()


if __name__ == "__main__":
    serve_vendors(int(sys.argv[1]))
