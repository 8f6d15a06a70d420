"""Dependencies of routes: transactions, the clock, attributes of the application."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import Annotated, Any, NamedTuple, TypeVar

import sqlalchemy as sa
from anyio import CancelScope, CapacityLimiter, to_thread
from fastapi import Depends, HTTPException, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from askless.app.documents.text import build_distinct_object
from askless.app.http.plumbing.auth import Called, caller_of
from askless.app.http.plumbing.forms import FORM, media_type, read_form
from askless.app.http.plumbing.retries import HEADER, RESPONSE, Retry, find_retry
from askless.app.records import Caller, Moment
from askless.app.service.loaded import LoadedModels
from askless.app.store.database.engine import empty_log, transaction
from askless.app.store.database.transactions import Transaction

# With as many again that change sessions, together below the pool of connections (24):
# a request that has one waits for a thread, and must not find all threads waiting for
# connections.
MAX_WRITERS = 8
MAX_READERS = 6

Made = TypeVar("Made")


# `async`, although they wait for nothing: each `def` would cost a trip to a thread.
def state_attribute(name: str) -> Any:
    """Depend on an attribute of the application's state."""

    async def get(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(get)


async def require_json(request: Request) -> None:
    """Refuse a body of another type."""
    kind = media_type(request.headers)
    if kind != "application/json" and not kind.endswith("+json"):
        detail = "The body must be application/json."
        raise HTTPException(415, detail, headers={"Accept-Post": "application/json"})


async def require_distinct(request: Request) -> None:
    """Refuse JSON with a repeated field, of which FastAPI would take the last."""
    if body := await request.body():
        await require_json(request)
        json.loads(body, object_pairs_hook=build_distinct_object)


async def get_now(request: Request) -> datetime:
    now: datetime = request.app.state.clock()
    return now


def make_moment(request: Request) -> Moment:
    """Return the time of a request, with how long sessions may be idle."""
    state = request.app.state
    at: Moment = state.settings.moment_at(state.clock())
    return at


async def get_moment(request: Request) -> Moment:
    return make_moment(request)


async def get_log_fields(request: Request) -> dict[str, Any]:
    """Return the fields that a request adds to its line in the log."""
    fields: dict[str, Any] = request.scope["log_fields"]
    return fields


async def get_db(request: Request, caller: Called) -> AsyncIterator[Transaction]:
    """Open the transaction of a route, which is committed before the response.

    With an idempotency key it also claims the key, and stores the response at the end.
    """
    engine = request.app.state.engine
    context = transaction(engine, caller.tenant_id, caller=caller)
    retry = await find_retry(request)
    async with close_in_own_thread(context) as db:
        if retry is None:
            yield db
            return
        await run_in_own_thread(retry.claim, db)
        yield db
        await run_in_own_thread(retry.keep, db, request.scope[RESPONSE])


async def get_read_db(request: Request, caller: Called) -> AsyncIterator[Transaction]:
    context = read_db(request.app.state.engine, caller.tenant_id)
    async with close_in_own_thread(context) as db:
        yield db


async def show_now(
    request: Request, tenant_id: str, show: Callable[[Transaction], Made]
) -> Made:
    """Return what `show` makes of the database as it is now, read in a thread."""

    def read() -> Made:
        with read_db(request.app.state.engine, tenant_id) as db:
            return show(db)

    return await run_in_threadpool(read)


class Changer(NamedTuple):
    """Makes a change and its response in one thread, and commits between the two.

    The response is computed while others write. After a crash in between the caller
    asks again and sees the change. With an `Idempotency-Key` the response is stored in
    the same transaction, and a retry gets the same one.
    """

    engine: sa.Engine
    caller: Caller
    limiter: CapacityLimiter
    retry: Retry | None
    #: fields of the request's line in the log
    fields: dict[str, Any]

    async def __call__(
        self, change: Callable[[Transaction], Made], answer: Callable[[Made], Response]
    ) -> Response:
        return await to_thread.run_sync(self.work, change, answer, limiter=self.limiter)

    def work(
        self, change: Callable[[Transaction], Made], answer: Callable[[Made], Response]
    ) -> Response:
        with transaction(self.engine, self.caller.tenant_id, caller=self.caller) as db:
            if self.retry is not None:
                return self.retry.answer(db, lambda: answer(change(db)))
            made = change(db)
        return answer(made)

    async def work_alone(self, change: Callable[[Transaction], Made]) -> Made:
        """Make a change in a transaction of its own, without a response to keep."""

        def work() -> Made:
            with change_db(self.engine, self.caller) as db:
                return change(db)

        return await to_thread.run_sync(work, limiter=self.limiter)


def changer_dependency(*, takes_json: bool) -> Any:
    """Depend on a `Changer`; with `takes_json` refuse as `require_distinct` does.

    It reads the caller and the fields itself: each dependency of its own would cost
    an answer a hundredth.
    """

    async def get(request: Request) -> Changer:
        if takes_json:
            await require_distinct(request)
        state, retry = request.app.state, await find_retry(request)
        fields = request.scope["log_fields"]
        return Changer(state.engine, caller_of(request), state.changers, retry, fields)

    return Depends(get)


Changes = Annotated[Changer, changer_dependency(takes_json=False)]
JsonChanges = Annotated[Changer, changer_dependency(takes_json=True)]


async def get_erasing_db(
    request: Request, caller: Called
) -> AsyncIterator[Transaction]:
    """Open a transaction for erasing; empty the database's log after it."""
    engine = request.app.state.engine
    context = transaction(engine, caller.tenant_id, caller=caller)
    async with close_in_own_thread(context) as db:
        yield db
    # A worker tries again where a reader is in the way.
    await to_thread.run_sync(empty_log, engine, limiter=CapacityLimiter(1))


def read_db(
    engine: sa.Engine, tenant_id: str | None
) -> AbstractContextManager[Transaction]:
    return transaction(engine, tenant_id, is_read=True)


def change_db(
    engine: sa.Engine, caller: Caller | None
) -> AbstractContextManager[Transaction]:
    """Open a transaction of a caller, or of the service itself."""
    tenant_id = None if caller is None else caller.tenant_id
    return transaction(engine, tenant_id, caller=caller)


async def replay_early(request: Request, caller: Called) -> AsyncIterator[None]:
    """Replay a stored answer before an uploaded table is read again."""
    if HEADER not in request.headers:
        yield
        return
    async with AsyncExitStack() as stack:
        if media_type(request.headers) == FORM:
            await stack.enter_async_context(read_form(request))
        retry = await find_retry(request)
        if retry is not None:
            context = read_db(request.app.state.engine, caller.tenant_id)
            async with close_in_own_thread(context) as db:
                await run_in_own_thread(retry.look, db)
        yield


async def run_in_own_thread(act: Callable[..., object], *arguments: object) -> None:
    """Run a function in a thread that belongs to no shared limit."""
    await to_thread.run_sync(act, *arguments, limiter=CapacityLimiter(1))


@asynccontextmanager
async def close_in_own_thread(
    context: AbstractContextManager[Transaction],
) -> AsyncIterator[Transaction]:
    """Open a transaction, which waits for nothing, and end it in a thread.

    The thread is none of those that routes share: they may all wait for the connection
    that this transaction holds, and waiting for one of them would be a deadlock.
    """
    db = context.__enter__()
    try:
        yield db
    except BaseException as error:
        traceback = error.__traceback__
        with CancelScope(shield=True):
            await run_in_own_thread(context.__exit__, type(error), error, traceback)
        raise
    with CancelScope(shield=True):
        await run_in_own_thread(context.__exit__, None, None, None)


# Scope "function": the commit precedes the response.
Db = Annotated[
    Transaction, Depends(get_db, scope="function", max_concurrency=MAX_WRITERS)
]
ErasingDb = Annotated[
    Transaction, Depends(get_erasing_db, scope="function", max_concurrency=1)
]
ReadDb = Annotated[
    Transaction, Depends(get_read_db, scope="function", max_concurrency=MAX_READERS)
]
# First among a route's dependencies.
ReplaysEarly = Depends(replay_early)
# `askless.app.store.blobs.Blobs`, of which only the service knows more than the name.
Uploads = Annotated[Any, state_attribute("blobs")]
# `askless.app.uploads.parsing.TableReader`.
Reader = Annotated[Any, state_attribute("reader")]
OurSettings = Annotated[Any, state_attribute("settings")]
Engine = Annotated[sa.Engine, state_attribute("engine")]
Loaded = Annotated[LoadedModels, state_attribute("loaded")]
Now = Annotated[datetime, Depends(get_now)]
At = Annotated[Moment, Depends(get_moment)]
LogFields = Annotated[dict[str, Any], Depends(get_log_fields)]

Raw = Annotated[
    bool,
    Query(
        description="Cells of a CSV as they are, for programs. Otherwise an "
        "apostrophe keeps spreadsheets from running text as a formula."
    ),
]
Limit = Annotated[int, Query(ge=1, le=200, description="Most items to give.")]


def cursor_parameter(pattern: str) -> Any:
    """Return the query parameter `after` of a list; `pattern` is for the document."""
    return Query(
        min_length=1,
        max_length=80,
        pattern=r"^[A-Za-z0-9_-]+$",
        description="The `next` of the page before.",
        json_schema_extra={"pattern": pattern},
    )


After = Annotated[str | None, cursor_parameter(r"^[0-9]{1,17}_[A-Za-z0-9_]{1,60}$")]
AfterEntry = Annotated[
    str | None, cursor_parameter("^[A-Za-z0-9_]{1,40}-[1-9][0-9]{0,8}$")
]
