"""A JWK Set on loopback, which says what a test has it say."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class JwkSet:
    """What is served, and how often it was asked for."""

    def __init__(self, content: str) -> None:
        self.right = content
        self.url = ""
        self.renew()

    def renew(self) -> None:
        """Say again what is right."""
        self.status, self.content, self.n_asked = 200, self.right.encode(), 0
        #: sent before the content, until a test lets it go on
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.headers: dict[str, str] = {}


@contextmanager
def serving_jwk_set(content: str) -> Iterator[JwkSet]:
    made = JwkSet(content)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.n_asked += 1
            self.send_response(made.status)
            for name, text in made.headers.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(made.content)))
            self.end_headers()
            made.may_go_on.wait(30)
            with suppress(OSError):
                self.wfile.write(made.content)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}/jwks.json"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()
