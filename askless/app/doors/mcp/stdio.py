"""The door over stdio: one client, which has started this process."""

from collections.abc import Awaitable, Callable
from typing import Any, Self

import anyio
from anyio import create_memory_object_stream, create_task_group
from anyio.streams.memory import MemoryObjectSendStream as ObjectSendStream
from fastapi import FastAPI, Request
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse, jsonrpc_message_adapter

from askless.app.doors.mcp.calls import Host
from askless.app.doors.mcp.greeting import Greeting
from askless.app.doors.mcp.server import make_server
from askless.app.http.plumbing.auth import ANYBODY
from askless.app.records import Caller

#: A message, or the error of a line that is none.
Received = SessionMessage | Exception


class Unanswered:
    """What the server writes, without its answer to a request that has one already."""

    def __init__(self, stream: Any, answered: int | str | None) -> None:
        self.stream = stream
        self.answered = answered

    async def send(self, item: SessionMessage) -> None:
        message = item.message
        if isinstance(message, JSONRPCResponse) and message.id == self.answered:
            # An id may come again.
            self.answered = None
            return
        await self.stream.send(item)

    async def aclose(self) -> None:
        await self.stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def serve_stdio(
    app: FastAPI, tenant_id: str, token: str | None, greeting: Greeting | None
) -> None:
    """Serve until standard input ends, in the name of a key, or of a tenant."""
    identify = make_identifier(app, tenant_id, token)
    anyio.run(serve_until_end, app, identify, greeting)


async def serve_until_end(
    app: FastAPI,
    identify: Callable[[Request], Awaitable[Caller]],
    greeting: Greeting | None,
) -> None:
    async with app.router.lifespan_context(app):
        server = make_server(Host(app, identify))
        options = server.create_initialization_options()
        async with stdio_server() as (read, write), create_task_group() as group:
            if greeting is None:
                await server.run(read, write, options)
                return
            sender, replayed = create_memory_object_stream[Received](0)
            group.start_soon(replay, greeting.line, read, sender)
            await server.run(replayed, Unanswered(write, greeting.answered), options)
            group.cancel_scope.cancel()


async def replay(line: str, read: Any, sender: ObjectSendStream[Received]) -> None:
    """Send the line that was read already, then all that comes behind it."""
    async with sender:
        if not line:
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError as error:
            await sender.send(error)
        else:
            await sender.send(SessionMessage(message))
        async for item in read:
            await sender.send(item)


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
