"""Streams the events of trainings, and of jobs that apply a model."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import Header, Request
from fastapi.sse import ServerSentEvent

from askless.app.documents.http.trainings import TrainingEvent
from askless.app.errors import NothingToComeError
from askless.app.http.plumbing.auth import Called
from askless.app.http.plumbing.deps import Engine, reading
from askless.app.http.plumbing.watch import Events, Watch
from askless.app.records import FINAL_STATES, StoredJob
from askless.app.service.jobs import trainings
from askless.app.store.database.transactions import Transaction

RETRY_MS = 1000
ENDED: dict[int | str, dict[str, Any]] = {
    204: {"description": "It has ended, and nothing comes any more."}
}
LastEvent = Annotated[int, Header(ge=0, description="Go on after this event.")]


def require_unfinished(
    get: Callable[[Transaction, str], StoredJob],
) -> Callable[..., str]:
    """Return a dependency that answers 404, or 204 if nothing is left to stream.

    It holds no database connection while the stream lasts. 204 tells a resuming
    browser not to reconnect.
    """

    def check(
        id: str, engine: Engine, caller: Called, last_event_id: LastEvent = 0
    ) -> str:
        with reading(engine, caller.tenant_id) as db:
            is_resumed = last_event_id > 0
            if get(db, id).state in FINAL_STATES and is_resumed:
                to_come = trainings.events(db, {id: last_event_id})[id]
                if not to_come:
                    raise NothingToComeError
        return id

    return check


def get_watch(request: Request) -> Watch:
    """Return the process's watch; make it on first use."""
    state = request.app.state

    def fetch(numbers: dict[str, int]) -> Events:
        with reading(state.engine, None) as db:
            return trainings.events(db, numbers)

    if not hasattr(state, "watch"):
        state.watch = Watch(fetch, lambda: bool(state.stopping))
    watch: Watch = state.watch
    return watch


async def stream(
    request: Request, id: str, last_event_id: int
) -> AsyncIterator[ServerSentEvent]:
    """Yield the events of a training or job until it has ended."""
    async with aclosing(get_watch(request).follow(id, last_event_id)) as events:
        async for event in events:
            data = {**event.data, "at": event.at.isoformat()}
            yield ServerSentEvent(
                data=TrainingEvent.model_validate(data),
                event=event.type,
                id=str(event.number),
                retry=RETRY_MS,
            )
