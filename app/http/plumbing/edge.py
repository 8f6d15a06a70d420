"""The outermost layer: request ids, body limits, one line in the log per request."""

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

from app.http.plumbing.errors import GONE, problem
from app.http.plumbing.forms import FORM, media_type
from app.logs import log

REQUEST_ID = re.compile(r"[A-Za-z0-9._\-]{1,64}")
UPLOADS = frozenset(
    ("POST", path) for path in ("/train", "/datasets", "/ui/train", "/ui/datasets")
)
# JSON that may be as large as an upload.
DOCUMENTS = frozenset((("POST", "/models"),))
TOO_LARGE = "The body is larger than the {limit} bytes that this address accepts."
# What a method is called that HTTP does not have: callers may invent any number.
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
OTHER = "other"
# No browser is to guess that an answer is a page or a script.
NO_SNIFFING = (b"x-content-type-options", b"nosniff")
# A field of the log line: the request gets no line.
UNLOGGED = "unlogged"
# To look whether a caller is still there takes 20 microseconds.
LOOK_AFTER_S = 0.05

Recorder = Callable[["Exchange"], None]


@dataclass
class Exchange:
    """One request: what its line in the log says, and the status it has come to."""

    request_id: str
    method: str
    receive: Receive
    send: Send
    #: most bytes of its body
    limit: int
    #: whether nothing of its body is to come
    is_read: bool
    is_gone: bool = False
    size: int = 0
    status: int = GONE
    fields: dict[str, Any] = field(default_factory=dict)
    route: str | None = None
    started: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0

    async def receive_on(self) -> Message:
        """Refuse a body that turns out longer than allowed while it comes in."""
        message = await self.receive()
        self.is_gone = message["type"] == "http.disconnect"
        self.is_read = not message.get("more_body", False)
        if message["type"] == "http.request":
            self.size += len(message.get("body", b""))
            if self.size > self.limit:
                raise HTTPException(413, TOO_LARGE.format(limit=self.limit))
        return message

    async def send_on(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            is_gone = await self.has_hung_up()
            self.status = GONE if is_gone else message["status"]
            named = (b"x-request-id", self.request_id.encode())
            others = [one for one in message["headers"] if one != NO_SNIFFING]
            message = {**message, "headers": [*others, NO_SNIFFING, named]}
        await self.send(message)

    async def has_hung_up(self) -> bool:
        """Whether the caller is gone when the answer begins; waits for nothing."""
        is_quick = time.perf_counter() - self.started < LOOK_AFTER_S
        if self.is_gone or is_quick or not self.is_read:
            # To ask would take a part of a body, or tell the caller to send it.
            return self.is_gone
        with CancelScope() as scope:
            scope.cancel()
            return bool((await self.receive())["type"] == "http.disconnect")
        return False


class Edge:
    """Wraps the whole application, its handler of crashes included; buffers nothing."""

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
        given = headers.get("x-request-id", "")
        exchange = Exchange(
            given if REQUEST_ID.fullmatch(given) else f"req_{token_hex(8)}",
            scope["method"] if scope["method"] in METHODS else OTHER,
            receive,
            send,
            limit=self.limit_of(scope, headers),
            is_read=not stated(headers) and "transfer-encoding" not in headers,
        )
        scope.update(request_id=exchange.request_id, log_fields=exchange.fields)
        answer: ASGIApp = self.app
        if stated(headers) > exchange.limit:
            detail = TOO_LARGE.format(limit=exchange.limit)
            answer = problem(scope, "too-large", detail)
        elif "\x00" in scope["path"]:
            # No database takes it as a key, and nothing has such a name.
            answer = problem(scope, "not-found")
        try:
            await answer(scope, exchange.receive_on, exchange.send_on)
        except Exception:
            # What is logged already needs no second line of the server's.
            if "error" not in exchange.fields:
                raise
        finally:
            self.record_end(scope, exchange)

    def limit_of(self, scope: Scope, headers: Headers) -> int:
        """Return the most bytes that a body may have; forms bring tables."""
        place = (scope["method"], scope["path"].rstrip("/"))
        is_form = media_type(headers) == FORM
        is_upload = place in DOCUMENTS or (place in UPLOADS and is_form)
        return self.max_upload if is_upload else self.max_body

    def record_end(self, scope: Scope, exchange: Exchange) -> None:
        """Record and log a finished request."""
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


def stated(headers: Headers) -> int:
    """Return the length that a request says its body has."""
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
