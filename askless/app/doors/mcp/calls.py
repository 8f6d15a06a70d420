"""Calls of a client: who makes one, its transactions, and how its errors are told."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from anyio import to_thread
from fastapi import FastAPI, Request
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from pydantic import ValidationError
from starlette.responses import Response

from askless.app.errors import ForbiddenError
from askless.app.http.plumbing.deps import change_db, make_moment, read_db
from askless.app.http.plumbing.layers.errors import (
    HANDLERS,
    field_and_rule,
    invalid_request_response,
)
from askless.app.logs import log
from askless.app.records import Caller
from askless.app.service.sessions.opened import SessionCall
from askless.app.store.database.transactions import Transaction

Made = TypeVar("Made")
Shown = TypeVar("Shown")
# Stdio has no requests of HTTP, so errors name this one as their origin.
OFFLINE = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b""}


class CallRefusedError(Exception):
    """A call was refused, or failed; `problem` is what HTTP would have answered."""

    def __init__(self, problem: dict[str, Any]) -> None:
        self.problem = problem
        super().__init__(problem["detail"])

    def to_protocol(self) -> MCPError:
        """Return the error of the protocol, for what has no result of its own kind."""
        code = INTERNAL_ERROR if self.problem["status"] >= 500 else INVALID_PARAMS
        return MCPError(code, str(self), self.problem)


class Call(NamedTuple):
    """A call that was admitted: its request, and who makes it."""

    request: Request
    caller: Caller

    @property
    def state(self) -> Any:
        return self.request.app.state

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the call's line in the log."""
        fields: dict[str, Any] = self.request.scope["log_fields"]
        return fields

    def on_case(self, case: str, version: int | None = None) -> SessionCall:
        """Return the request about a case that the call makes of the service."""
        versions = None if version is None else frozenset((version,))
        return SessionCall(case, self.state.loaded, make_moment(self.request), versions)

    async def read(self, act: Callable[[Transaction], Made]) -> Made:
        def work() -> Made:
            with read_db(self.state.engine, self.caller.tenant_id) as db:
                return act(db)

        return await to_thread.run_sync(work, limiter=self.state.changers)

    async def change(
        self, act: Callable[[Transaction], Made], show: Callable[[Made], Shown]
    ) -> Shown:
        """Make a change, commit it, and show it; others write meanwhile."""

        def work() -> Shown:
            with change_db(self.state.engine, self.caller) as db:
                result = act(db)
            return show(result)

        return await to_thread.run_sync(work, limiter=self.state.changers)


@dataclass(frozen=True)
class Host:
    """Answers calls: the application that is asked, and how callers are known."""

    app: FastAPI
    #: raises UnknownKeyError, or HTTPException (429) for too many requests
    identify: Callable[[Request], Awaitable[Caller]]

    async def serve(
        self,
        context: ServerRequestContext[Any, Any],
        called: str,
        scope: str,
        act: Callable[[Call], Awaitable[Made]],
    ) -> Made:
        """Do what a call asks, if its caller has the scope.

        Raises CallRefusedError whatever goes wrong: the protocol's own way would send
        the words of any exception, and these may repeat a feature's value.
        """
        request = context.request or self.offline()
        fields: dict[str, Any] = request.scope["log_fields"]
        fields["called"] = called
        try:
            caller = await self.identify(request)
            if scope not in caller.scopes:
                raise ForbiddenError(scope)
            return await act(Call(request, caller))
        except Exception as error:
            problem = describe_problem(request, error)
            fields["problem"] = problem["type"]
            raise CallRefusedError(problem) from None
        finally:
            if context.request is None:
                log("mcp.call", **fields)

    def offline(self) -> Request:
        return Request({**OFFLINE, "headers": [], "app": self.app, "log_fields": {}})


def describe_problem(request: Request, error: Exception) -> dict[str, Any]:
    """Return the problem document of an exception, as HTTP answers it."""
    if isinstance(error, ValidationError):
        response: Response = invalid_request_response(
            request, (field_and_rule(dict(detail)) for detail in error.errors())
        )
    else:
        kind = next(
            error_class
            for error_class in type(error).__mro__
            if error_class in HANDLERS
        )
        response = HANDLERS[kind](request, error)
    problem: dict[str, Any] = json.loads(bytes(response.body))
    return problem
