"""Problems as pages, for browsers; programs get the document as it is."""

import json
import re
from typing import Any

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.pages.callers import SignInError, sign_in_address
from app.pages.frame import render, see_other
from app.problems import KINDS

PROBLEM = b"application/problem+json"
SENTENCE = re.compile(r"(?<=\.) ")
# Words that only programs need: fields in backticks, and names of headers.
OF_PROGRAMS = re.compile(r"`|\b[A-Z]\w*-[A-Z]|\bheader\b")
DOCUMENTS = ("application/json", "application/problem+json")


def prefers_pages(accept: str) -> bool:
    """Return whether an Accept header prefers pages to JSON."""
    shares = {}
    for part in accept.lower().split(","):
        kind, *params = (one.strip() for one in part.split(";"))
        shares[kind] = next(
            (parse_quality(one) for one in params if one[:2] == "q="), 1.0
        )
    best = max((shares.get(one, 0.0) for one in DOCUMENTS), default=0.0)
    return shares.get("text/html", 0.0) > best


def parse_quality(param: str) -> float:
    """Return the weight of a parameter such as q=0.8; 0 if it is malformed."""
    try:
        return float(param[2:])
    except ValueError:
        return 0.0


class ProblemPages:
    """Middleware that turns problem documents into pages for browsers."""

    def __init__(self, app: ASGIApp, top: ASGIApp) -> None:
        self.app = app
        self.top = top

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_asked = scope["type"] == "http" and scope["method"] != "HEAD"
        if not is_asked or not prefers_pages(Headers(scope=scope).get("accept", "")):
            await self.app(scope, receive, send)
            return
        # A problem's messages are held until its document is whole; all others pass.
        held: list[Message] = []

        async def send_on(message: Message) -> None:
            is_start = message["type"] == "http.response.start"
            if is_start and (b"content-type", PROBLEM) in message["headers"]:
                held.append(message)
            elif not held:
                await send(message)
            else:
                held.append(message)
                if not message.get("more_body", False):
                    await self.send_page(held, scope, receive, send)

        # Inner layers may change messages, so they get the original ones.
        await self.app(scope, receive, send_on)

    async def send_page(
        self, held: list[Message], scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Send a page instead of the problem whose messages are `held`."""
        start, *parts = held
        document = json.loads(b"".join(one.get("body", b"") for one in parts))
        request = Request({**scope, "app": self.top}, receive)
        kept = Headers(raw=start["headers"])
        wait_s = kept.get("retry-after")
        response = problem_page(request, document, start["status"], wait_s)
        response.headers["Vary"] = "Accept"
        for name in ("retry-after", "allow", "www-authenticate", "x-request-id"):
            if name in kept:
                MutableHeaders(raw=response.raw_headers)[name] = kept[name]
        await response(scope, receive, send)


def for_people(meaning: str) -> str:
    """Return the meaning of a problem without sentences for programs."""
    said = (one for one in SENTENCE.split(meaning) if not OF_PROGRAMS.search(one))
    return " ".join(said)


def problem_page(
    request: Request, document: dict[str, Any], status: int, wait_s: str | None = None
) -> Response:
    """Return a problem in plain words, with what to do and the id of the request."""
    kind = str(document.get("type", "")).rpartition("/")[2]
    meaning = KINDS[kind].meaning if kind in KINDS else ""
    detail = document.get("detail")
    return render(
        request,
        "problem.html",
        status,
        title=document["title"],
        detail=None if detail == meaning else detail,
        rules=document.get("errors", []),
        meaning=for_people(meaning),
        wait_s=wait_s,
        request_id=document.get("request_id"),
    )


def on_sign_in(request: Request, error: SignInError) -> Response:
    """Redirect to the sign-in page, which leads back here."""
    del error
    return see_other(sign_in_address(request))
