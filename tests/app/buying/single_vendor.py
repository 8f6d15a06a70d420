"""A vendor on loopback, which counts its calls."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Vendor:
    """What a vendor answers, and what it was asked."""

    def __init__(self) -> None:
        self.status, self.answer = 200, {"a": {"b": 3, "c": 4}}
        self.headers: dict[str, str] = {}
        self.asked: list[dict[str, Any]] = []
        self.host = ""


@contextmanager
def serve_vendor() -> Iterator[Vendor]:
    """Serve a vendor until the block ends."""
    vendor = Vendor()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked = {"path": self.path, "headers": dict(self.headers), "body": body}
            vendor.asked.append(asked)
            content = json.dumps(vendor.answer).encode()
            self.send_response(vendor.status)
            for name, text in vendor.headers.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        vendor.host = f"127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        yield vendor
        server.shutdown()
