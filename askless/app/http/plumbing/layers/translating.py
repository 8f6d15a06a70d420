"""Send another body instead of a problem document: a page, or a protocol's own error.

Inner layers finish a problem first, so that its headers and its log line are as usual.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askless.app.http.plumbing.layers.errors import MEDIA_TYPE

KEPT = (
    *("retry-after", "allow", "www-authenticate", "accept-post"),
    *("x-content-type-options", "x-request-id"),
)
Json = dict[str, Any]

#: Builds a response of a problem's document, its status and its headers.
Rebuild = Callable[[Json, int, Headers], Response]


class Translation(NamedTuple):
    """The errors of the addresses below a prefix, such as `/v2`."""

    prefix: str
    translate: Rebuild

    def has(self, path: str) -> bool:
        return path == self.prefix or path.startswith(f"{self.prefix}/")


class TranslatedProblems:
    """Middleware that turns problems into the errors of other protocols."""

    def __init__(self, app: ASGIApp, translations: Sequence[Translation]) -> None:
        self.app = app
        self.translations = translations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Problems that answer HEAD have no body.
        is_asked = scope["type"] == "http" and scope["method"] != "HEAD"
        for translation in self.translations if is_asked else ():
            if translation.has(scope["path"]):
                await replace_problems(
                    self.app, translation.translate, scope, receive, send
                )
                return
        await self.app(scope, receive, send)


async def replace_problems(
    app: ASGIApp, rebuild: Rebuild, scope: Scope, receive: Receive, send: Send
) -> None:
    """Run an application; send other responses instead of its problems."""
    # A problem's messages are held until its document is whole; all others pass.
    withheld: list[Message] = []
    problem = (b"content-type", MEDIA_TYPE.encode())

    async def send_on(message: Message) -> None:
        is_start = message["type"] == "http.response.start"
        if is_start and problem in message["headers"]:
            withheld.append(message)
        elif not withheld:
            await send(message)
        else:
            withheld.append(message)
            if not message.get("more_body", False):
                await send_instead()

    async def send_instead() -> None:
        start, *parts = withheld
        document = json.loads(b"".join(part.get("body", b"") for part in parts))
        headers = Headers(raw=start["headers"])
        response = rebuild(document, start["status"], headers)
        for name in KEPT:
            if name in headers:
                MutableHeaders(raw=response.raw_headers)[name] = headers[name]
        await response(scope, receive, send)

    # Inner layers may change messages, so they get the original ones.
    await app(scope, receive, send_on)
