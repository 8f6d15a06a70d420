"""The outermost layer: request ids, body limits, one line in the log per request."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.errors import problem
from app.http.forms import FORM, media_type
from app.logs import log

REQUEST_ID = re.compile(r"[A-Za-z0-9._\-]{1,64}")
UPLOADS = frozenset((("POST", "/train"), ("POST", "/datasets")))
# JSON that may be as large as an upload.
DOCUMENTS = frozenset((("POST", "/models"),))
TOO_LARGE = "The body is larger than the {limit} bytes that this address accepts."
# The status of a request whose caller hung up before the answer.
GONE = 499

Recorder = Callable[[str, str, int, float, float], None]


@dataclass
class Exchange:
    """One request: what its line in the log says, and the status it has come to."""

    request_id: str
    send: Send
    fields: dict[str, Any] = field(default_factory=dict)
    status: int = GONE
    started: float = field(default_factory=time.perf_counter)

    async def send_on(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            named = (b"x-request-id", self.request_id.encode())
            message = {**message, "headers": [*message["headers"], named]}
        await self.send(message)


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
        request_id = given if REQUEST_ID.fullmatch(given) else f"req_{token_hex(8)}"
        exchange = Exchange(request_id, send)
        scope.update(request_id=request_id, log_fields=exchange.fields)
        limit = self.limit_of(scope, headers)
        answer: ASGIApp = self.app
        if stated(headers) > limit:
            answer = problem(scope, "too-large", TOO_LARGE.format(limit=limit))
        elif "\x00" in scope["path"]:
            # No database takes it as a key, and nothing has such a name.
            answer = problem(scope, "not-found")
        try:
            await answer(scope, limited(receive, limit), exchange.send_on)
        finally:
            self.tell(scope, exchange)

    def limit_of(self, scope: Scope, headers: Headers) -> int:
        """Return the most bytes that a body may have; forms bring tables."""
        place = (scope["method"], scope["path"].rstrip("/"))
        is_form = media_type(headers) == FORM
        is_upload = place in DOCUMENTS or (place in UPLOADS and is_form)
        return self.max_upload if is_upload else self.max_body

    def tell(self, scope: Scope, exchange: Exchange) -> None:
        """Record and log a request that is over."""
        seconds = time.perf_counter() - exchange.started
        route = getattr(scope.get("route"), "path", None)
        method, status, fields = scope["method"], exchange.status, exchange.fields
        charged = float(fields.get("charged", 0.0))
        self.record(method, route or "none", status, seconds, charged)
        log(
            "http.request",
            request_id=exchange.request_id,
            method=method,
            route=route,
            status=status,
            ms=round(1000 * seconds, 2),
            **fields,
        )


def stated(headers: Headers) -> int:
    """Return the length that a request says its body has."""
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


def limited(receive: Receive, limit: int) -> Receive:
    """Refuse a body that turns out longer than allowed while it comes in."""
    size = 0

    async def receive_on() -> Message:
        nonlocal size
        message = await receive()
        if message["type"] == "http.request":
            size += len(message.get("body", b""))
            if size > limit:
                raise HTTPException(413, TOO_LARGE.format(limit=limit))
        return message

    return receive_on
