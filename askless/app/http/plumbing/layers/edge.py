"""The outermost layer: adds request ids, limits bodies, logs each request."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from anyio import CancelScope
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askless.app.http.plumbing.forms import FORM, media_type
from askless.app.http.plumbing.layers.errors import GONE, is_hang_up, problem_response
from askless.app.logs import log

REQUEST_ID = re.compile(r"[A-Za-z0-9._\-]{1,64}")
UPLOADS = frozenset(
    ("POST", path) for path in ("/train", "/datasets", "/ui/train", "/ui/datasets")
)
# The largest model of a table of 3,100 rows and 36 features has 11 MB.
MODEL_BYTES = 32_000_000
MODELS = ("POST", "/models")
TOO_LARGE = "The body is larger than the {limit} bytes that this address accepts."
# Other methods share one label: callers may invent any number of them.
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
OTHER = "other"
# No browser is to guess that an answer is a page or a script.
NO_SNIFFING = (b"x-content-type-options", b"nosniff")
# A field of the log line: the request gets no line.
UNLOGGED = "unlogged"
# Checking whether a caller is still there takes 20 microseconds.
LOOK_AFTER_S = 0.05

Recorder = Callable[["Exchange"], None]


@dataclass
class Exchange:
    """One request with its status so far and the fields of its log line."""

    request_id: str
    method: str
    receive: Receive
    send: Send
    #: largest allowed body, in bytes
    limit: int
    #: whether its whole body was received
    is_read: bool
    is_gone: bool = False
    size: int = 0
    status: int = GONE
    fields: dict[str, Any] = field(default_factory=dict)
    route: str | None = None
    started: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0

    async def receive_limited(self) -> Message:
        """Receive the next message; refuse a body longer than the limit."""
        message = await self.receive()
        self.is_gone = message["type"] == "http.disconnect"
        self.is_read = not message.get("more_body", False)
        if message["type"] == "http.request":
            self.size += len(message.get("body", b""))
            if self.size > self.limit:
                raise HTTPException(413, TOO_LARGE.format(limit=self.limit))
        return message

    async def send_marked(self, message: Message) -> None:
        """Send a message; add the request id and nosniff to a response's head."""
        if message["type"] == "http.response.start":
            is_gone = await self.has_hung_up()
            self.status = GONE if is_gone else message["status"]
            id_header = (b"x-request-id", self.request_id.encode())
            headers = [header for header in message["headers"] if header != NO_SNIFFING]
            message = {**message, "headers": [*headers, NO_SNIFFING, id_header]}
        await self.send(message)

    async def has_hung_up(self) -> bool:
        """Return whether the caller is gone when the answer begins, without waiting."""
        is_quick = time.perf_counter() - self.started < LOOK_AFTER_S
        if self.is_gone or is_quick or not self.is_read:
            # Checking would consume a part of a body, or make the caller send it.
            return self.is_gone
        with CancelScope() as scope:
            # A cancelled wait still returns a message that has come already.
            scope.cancel()
            return bool((await self.receive())["type"] == "http.disconnect")
        return False


class Edge:
    """Middleware around the application and its crash handler; buffers nothing."""

    def __init__(
        self, app: ASGIApp, record: Recorder, max_body: int, max_upload: int
    ) -> None:
        self.app = app
        self.record = record
        self.max_body = max_body
        self.max_upload = max_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        sent_id = headers.get("x-request-id", "")
        exchange = Exchange(
            sent_id if REQUEST_ID.fullmatch(sent_id) else f"req_{token_hex(8)}",
            scope["method"] if scope["method"] in METHODS else OTHER,
            receive,
            send,
            limit=self.limit_of(scope, headers),
            is_read=not content_length(headers) and "transfer-encoding" not in headers,
        )
        scope.update(request_id=exchange.request_id, log_fields=exchange.fields)
        answer: ASGIApp = self.app
        if content_length(headers) > exchange.limit:
            detail = TOO_LARGE.format(limit=exchange.limit)
            answer = problem_response(scope, "too-large", detail)
        elif "\x00" in scope["path"]:
            # No database takes it as a key, and nothing has such a name.
            answer = problem_response(scope, "not-found")
        try:
            await answer(scope, exchange.receive_limited, exchange.send_marked)
        except Exception as error:
            # A logged error needs no second line by the server, and a hang-up none.
            if "error" not in exchange.fields and not is_hang_up(error):
                raise
        finally:
            self.record_end(scope, exchange)

    def limit_of(self, scope: Scope, headers: Headers) -> int:
        """Return the largest allowed body in bytes; forms may hold tables."""
        address = (scope["method"], scope["path"].rstrip("/"))
        if address == MODELS:
            return MODEL_BYTES
        is_upload = address in UPLOADS and media_type(headers) == FORM
        return self.max_upload if is_upload else self.max_body

    def record_end(self, scope: Scope, exchange: Exchange) -> None:
        """Record a finished request in the metrics and the log."""
        exchange.seconds = time.perf_counter() - exchange.started
        exchange.route = getattr(scope.get("route"), "path", None)
        self.record(exchange)
        if exchange.fields.pop(UNLOGGED, False):
            return
        log(
            "http.request",
            request_id=exchange.request_id,
            method=exchange.method,
            route=exchange.route,
            status=exchange.status,
            ms=round(1000 * exchange.seconds, 2),
            **exchange.fields,
        )


def content_length(headers: Headers) -> int:
    """Return the length that `Content-Length` states, or 0."""
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
