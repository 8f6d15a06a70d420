"""Problems as pages, for browsers; programs get the document as it is."""

import re
from typing import Any

from fastapi import Request
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from askless.app.http.plumbing.layers.translating import replace_problems
from askless.app.pages.plumbing.callers import SignInError, sign_in_address
from askless.app.pages.plumbing.frame import redirect, render
from askless.app.problems import KINDS

SENTENCE = re.compile(r"(?<=\.) ")
# Words that only programs need: fields in backticks, and names of headers.
OF_PROGRAMS = re.compile(r"`|\b[A-Z]\w*-[A-Z]|\bheader\b")
DOCUMENTS = ("application/json", "application/problem+json")


def prefers_pages(accept: str) -> bool:
    """Return whether an Accept header prefers pages to JSON."""
    shares = {}
    for part in accept.lower().split(","):
        kind, *params = (text.strip() for text in part.split(";"))
        shares[kind] = next(
            (parse_quality(param) for param in params if param[:2] == "q="), 1.0
        )
    best = max((shares.get(media_type, 0.0) for media_type in DOCUMENTS), default=0.0)
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

        def rebuild(
            document: dict[str, Any], status: int, headers: Headers
        ) -> Response:
            request = Request({**scope, "app": self.top}, receive)
            wait_s = headers.get("retry-after")
            response = render_problem(request, document, status, wait_s)
            response.headers["Vary"] = "Accept"
            return response

        await replace_problems(self.app, rebuild, scope, receive, send)


def remove_program_hints(meaning: str) -> str:
    """Return the meaning of a problem without sentences for programs."""
    sentences = (
        sentence
        for sentence in SENTENCE.split(meaning)
        if not OF_PROGRAMS.search(sentence)
    )
    return " ".join(sentences)


def render_problem(
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
        meaning=remove_program_hints(meaning),
        wait_s=wait_s,
        request_id=document.get("request_id"),
    )


def on_sign_in(request: Request, error: SignInError) -> Response:
    """Redirect to the sign-in page, which leads back here."""
    del error
    return redirect(sign_in_address(request))
