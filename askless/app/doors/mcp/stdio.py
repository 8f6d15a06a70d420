"""The door over stdio: one client, which has started this process."""

from collections.abc import Awaitable, Callable

import anyio
from fastapi import FastAPI, Request
from mcp.server.stdio import stdio_server

from askless.app.doors.mcp.calls import Host
from askless.app.doors.mcp.server import make_server
from askless.app.http.plumbing.auth import ANYBODY
from askless.app.records import Caller


def serve_stdio(app: FastAPI, tenant_id: str, token: str | None) -> None:
    """Serve until standard input ends, in the name of a key, or of a tenant."""
    anyio.run(serve_until_end, app, make_identifier(app, tenant_id, token))


async def serve_until_end(
    app: FastAPI, identify: Callable[[Request], Awaitable[Caller]]
) -> None:
    async with app.router.lifespan_context(app):
        server = make_server(Host(app, identify))
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())


def make_identifier(
    app: FastAPI, tenant_id: str, token: str | None
) -> Callable[[Request], Awaitable[Caller]]:
    """Return a function that identifies callers: by a key, or as the tenant itself."""
    owner = Caller(tenant_id, None, ANYBODY.scopes, ANYBODY.limits)

    async def identify_owner(_: Request) -> Caller:
        return owner

    async def identify_key(_: Request) -> Caller:
        caller: Caller = await app.state.guard.admit(lambda: app.state.engine, token)
        return caller

    return identify_owner if token is None else identify_key
