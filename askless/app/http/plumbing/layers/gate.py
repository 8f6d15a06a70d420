"""Refuse unknown host names, and changes that other sites' pages request.

A page of any site can make a browser send requests to a service on loopback. Those
that change something carry that site's `Origin`; a name that its owner points at
loopback is no loopback name.
"""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from askless.app.http.plumbing.layers.errors import problem_response
from askless.app.settings.hosts import host_of, is_loopback

SAFE = ("GET", "HEAD", "OPTIONS")
# Probes reach a process by any address, and learn nothing about a tenant.
PROBES = ("/livez", "/readyz", "/v2/health/live", "/v2/health/ready")


class Gate:
    """Middleware that refuses foreign hosts, and changes from foreign origins."""

    def __init__(
        self, app: ASGIApp, hosts: list[str], origins: list[str], *, is_local: bool
    ) -> None:
        self.app = app
        self.hosts = {host.lower() for host in hosts}
        self.origins = {origin.lower().rstrip("/") for origin in origins}
        # Beyond loopback any name may be ours, unless ours are named.
        self.has_names = is_local or bool(self.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self.app
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if scope["path"] not in PROBES and not self.is_ours(
                headers.get("host", "")
            ):
                answer = problem_response(scope, "unknown-host")
            elif scope["method"] not in SAFE and self.is_foreign(headers):
                answer = problem_response(scope, "foreign-origin")
        await answer(scope, receive, send)

    def is_ours(self, text: str) -> bool:
        """Return whether a `Host` header names this service."""
        host = host_of(text)
        if host is None:
            return not self.has_names
        return not self.has_names or is_loopback(host) or host in self.hosts

    def is_foreign(self, headers: Headers) -> bool:
        """Return whether a request's `Origin` is another site."""
        origin = headers.get("origin", "").lower()
        if not origin or origin in self.origins:
            return False
        return origin.partition("://")[2] != headers.get("host", "").lower()
