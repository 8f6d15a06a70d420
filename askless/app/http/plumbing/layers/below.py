"""Serve below a path of a proxy: `/ui` is `/askless/ui` to all who come by it.

Within the service addresses stay as they are. This layer takes the path off requests,
where the proxy has left it on, and puts it before the addresses that responses have:
redirects, cookies, and the links and forms of pages.
"""

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Attributes of pages that have addresses. What a user has typed has no plain quote.
LINK = re.compile(rb'(\s(?:href|src|action|formaction|data-follow)=")/(?!/)')
COOKIE_PATH = re.compile(r"(;\s*path=)/(?=[^;\s])", re.IGNORECASE)


class ProxyPath:
    """The outermost layer of a service whose address has a path."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self.app = app
        self.path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = str(scope["path"])
        if path == self.path or path.startswith(self.path + "/"):
            raw_path = scope.get("raw_path") or path.encode()
            below = raw_path[len(self.path) :] or b"/"
            scope = {**scope, "path": path[len(self.path) :] or "/", "raw_path": below}
        host = Headers(scope=scope).get("host", "")
        answer = PrefixedResponse(
            self.path,
            f"{scope.get('scheme', 'http')}://{host}",
            send,
            is_head=scope["method"] == "HEAD",
        )
        await self.app(scope, receive, answer.send)


class PrefixedResponse:
    """A response on its way; that of a page is held until it is complete."""

    def __init__(self, path: str, origin: str, send: Send, *, is_head: bool) -> None:
        self.path = path
        self.origin = origin
        self.pass_on = send
        self.is_head = is_head
        self.start: Message | None = None
        self.body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"]]}
            headers = MutableHeaders(raw=message["headers"])
            self.change_headers(headers)
            if headers.get("content-type", "").startswith("text/html"):
                self.start = message
                return
        elif self.start is not None:
            self.body += message.get("body", b"")
            if message.get("more_body", False):
                return
            message = {**message, "body": await self.begin()}
        await self.pass_on(message)

    async def begin(self) -> bytes:
        """Send the head of a page; return the page with its addresses changed."""
        assert self.start is not None
        page = LINK.sub(rb"\g<1>%b/" % self.path.encode(), self.body)
        headers = MutableHeaders(raw=self.start["headers"])
        if self.is_head:
            # Of a page that is not sent the length is not known.
            del headers["content-length"]
        elif "content-length" in headers:
            headers["content-length"] = str(len(page))
        await self.pass_on(self.start)
        self.start = None
        return page

    def change_headers(self, headers: MutableHeaders) -> None:
        # The framework adds or takes off a slash by a whole address.
        location = headers.get("location", "").removeprefix(self.origin)
        if location.startswith("/") and not location.startswith("//"):
            headers["location"] = self.path + location
        cookies = headers.getlist("set-cookie")
        if cookies:
            del headers["set-cookie"]
            for cookie in cookies:
                changed = COOKIE_PATH.sub(rf"\g<1>{self.path}/", cookie)
                headers.append("set-cookie", changed)
