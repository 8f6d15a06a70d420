"""The outermost layer: request ids, body limits, one line in the log per request."""

import re
import time
from collections.abc import Callable
from secrets import token_hex
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.errors import problem
from app.logs import log

REQUEST_ID = re.compile(r"[A-Za-z0-9._\-]{1,64}")
UPLOADS = frozenset((("POST", "/train"), ("POST", "/datasets"), ("POST", "/models")))
TOO_LARGE = "The body is larger than the {limit} bytes that this address accepts."
# The status of a request whose caller hung up before the answer.
GONE = 499

Recorder = Callable[[str, str, int, float, float], None]


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
        started = time.perf_counter()
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if REQUEST_ID.fullmatch(given) else f"req_{token_hex(8)}"
        fields: dict[str, Any] = {}
        scope.update(request_id=request_id, log_fields=fields)
        limit = self.limit_of(scope)
        status = GONE

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                named = (b"x-request-id", request_id.encode())
                message = {**message, "headers": [*message["headers"], named]}
            await send(message)

        try:
            if stated(headers) > limit:
                detail = TOO_LARGE.format(limit=limit)
                refusal = problem(request_id, "too-large", detail)
                await refusal(scope, receive, send_on)
            elif "\x00" in scope["path"]:
                # No database takes it as a key, and nothing has such a name.
                await problem(request_id, "not-found")(scope, receive, send_on)
            else:
                await self.app(scope, limited(receive, limit), send_on)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", None)
            charged = float(fields.get("charged", 0.0))
            self.record(scope["method"], route or "none", status, seconds, charged)
            log(
                "http.request",
                request_id=request_id,
                method=scope["method"],
                route=route,
                status=status,
                ms=round(1000 * seconds, 2),
                **fields,
            )

    def limit_of(self, scope: Scope) -> int:
        place = (scope["method"], scope["path"].rstrip("/"))
        return self.max_upload if place in UPLOADS else self.max_body


def stated(headers: Headers) -> int:
    """Give the length that a request says its body has."""
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
