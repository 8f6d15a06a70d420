"""Answer HEAD as GET without a body; list the methods of an address."""

from anyio import CancelScope
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.routing import Match, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class HeadAsGet:
    """Middleware that answers HEAD with the headers of GET, without its body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        get_scope = {**scope, "method": "GET"}

        async def send_head(message: Message) -> None:
            if message["type"] != "http.response.start":
                return
            await send(message)
            await send({"type": "http.response.body", "body": b""})
            if "content-length" not in Headers(raw=message["headers"]):
                # A stream, which may have no end.
                rest.cancel()

        with CancelScope() as rest:
            await self.app(get_scope, receive, send_head)
        if "route" in get_scope:
            scope["route"] = get_scope["route"]


def allowed_methods(request: Request) -> list[str]:
    """Return the methods of an address; GET implies HEAD, and OPTIONS always works."""
    methods = []
    # A mounted application has replaced the root path.
    root = request.scope.get("app_root_path", "")
    for method in METHODS:
        scope = {**request.scope, "method": method, "root_path": root}
        matched = (
            route
            for route in request.app.routes
            if route.matches(scope)[0] is Match.FULL
        )
        if any(method == "GET" or not isinstance(route, Mount) for route in matched):
            methods.append(method)
    return [*methods, *(["HEAD"] if "GET" in methods else []), "OPTIONS"]
