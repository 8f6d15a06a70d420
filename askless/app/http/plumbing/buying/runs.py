"""Wait for a run, and stream its events."""

import re
from time import monotonic
from typing import Annotated

import anyio
from fastapi import Header, Request, Response
from starlette.concurrency import run_in_threadpool

from askless.app.documents.buying.runs import RunEvent
from askless.app.errors import NothingToComeError
from askless.app.http.plumbing.auth import Called
from askless.app.http.plumbing.deps import Changer, Engine, make_moment, read_db
from askless.app.http.plumbing.following import EventKind, LastEvent
from askless.app.service import sessions
from askless.app.service.buying import events
from askless.app.service.sessions.opened import SessionCall

WAIT = re.compile(r"wait\s*=\s*\"?([0-9]{1,4})\"?")
MOST_WAIT_S = 60
LOOK_S = 0.05
RUN_EVENTS = EventKind(events.list_events, RunEvent, (events.ENDED,))

Prefer = Annotated[
    str | None,
    Header(
        max_length=200,
        description="`wait=10`: answer once the run has ended, after 10 seconds at "
        "the latest, 60 at most.",
        examples=["wait=10"],
    ),
]


def read_wait(prefer: str | None) -> int:
    """Return the seconds of `Prefer: wait=…` (RFC 7240); 0 if it can't be read."""
    parts = (prefer or "").lower().split(",")
    waits = (WAIT.fullmatch(part.split(";")[0].strip()) for part in parts)
    return next((min(MOST_WAIT_S, int(m.group(1))) for m in waits if m), 0)


async def wait_for_run(
    request: Request, change: Changer, response: Response, wait_s: int
) -> Response:
    """Return the session of a run once it has ended, or as it is when time is up.

    A run that was started before, and whose answer is replayed, is waited for too.
    """
    session_id = response.headers["location"].rpartition("/")[2]
    call = SessionCall(session_id, request.app.state.loaded, make_moment(request))

    def show() -> Response:
        with read_db(change.engine, change.caller.tenant_id) as db:
            view = sessions.get(db, call)
        has_ended = view.run is None or view.run.state == "ended"
        headers = {
            "ETag": f'"{view.version}"',
            "Location": f"/predict/{view.id}",
            "Preference-Applied": f"wait={wait_s}",
        }
        status = 200 if has_ended else 202
        content = view.model_dump_json()
        return Response(content, status, headers, media_type="application/json")

    await wait_for_end(request, session_id, wait_s)
    return await run_in_threadpool(show)


async def wait_for_end(request: Request, session_id: str, wait_s: float) -> None:
    """Return once a run has ended, time is up, or the service stops."""
    state, until = request.app.state, monotonic() + wait_s

    def is_ended() -> bool:
        with read_db(state.engine, None) as db:
            return bool(events.list_ended(db, [session_id]))

    while monotonic() < until and not state.stopping:
        if await run_in_threadpool(is_ended):
            return
        await anyio.sleep(LOOK_S)


def require_running(
    id: str,
    request: Request,
    engine: Engine,
    caller: Called,
    last_event_id: LastEvent = 0,
) -> str:
    """Answer 404 for an unknown session, 204 if nothing is left to stream."""
    call = SessionCall(id, request.app.state.loaded, make_moment(request))
    with read_db(engine, caller.tenant_id) as db:
        view = sessions.get(db, call)
        if view.run is None:
            raise NothingToComeError
        # A closed session's run ends a little later, when the buyer has seen it.
        has_ended = events.list_ended(db, [id])
        if has_ended and not events.list_events(db, {id: last_event_id})[id]:
            raise NothingToComeError
    return id
