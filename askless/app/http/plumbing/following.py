"""Stream the events of trainings, jobs and runs.

One poller serves all streams of a kind in a process.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from fastapi import Header, Request
from fastapi.sse import ServerSentEvent
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

from askless.app.documents.http.trainings import TrainingEvent
from askless.app.errors import NothingToComeError
from askless.app.http.plumbing.auth import Called
from askless.app.http.plumbing.deps import Engine, read_db
from askless.app.logs import LOGGER
from askless.app.records import FINAL_STATES, JobEvent, StoredJob
from askless.app.service.jobs import trainings
from askless.app.store.database.transactions import Transaction

Events = Mapping[str, tuple[JobEvent, ...]]
Fetch = Callable[[dict[str, int]], Events]

POLL_S = 0.25


@dataclass
class EventFeed:
    """Events of one job so far, and the signal that wakes its streams."""

    events: list[JobEvent] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    n_clients: int = 0
    is_broken: bool = False

    def add(self, new: Sequence[JobEvent]) -> None:
        """Add the new events; numbers have no gaps, so the count is the last one."""
        added = [event for event in new if event.number > len(self.events)]
        # After a gap nothing is added: the next poll fetches all that is missing.
        if added and added[0].number == len(self.events) + 1:
            self.events += added
            self.wake()

    def wake(self) -> None:
        """Wake all waiting streams, and make a new signal for the next wait."""
        self.changed.set()
        self.changed = asyncio.Event()


class Watch:
    """Polls while a stream is open; `fetch` returns the events after known numbers.

    A stream ends with an event of a type in `finals`.
    """

    def __init__(
        self,
        fetch: Fetch,
        is_stopping: Callable[[], bool],
        finals: Sequence[str] = FINAL_STATES,
    ) -> None:
        self.fetch = fetch
        self.is_stopping = is_stopping
        self.finals = finals
        self.feeds: dict[str, EventFeed] = {}
        self.poller: asyncio.Task[None] | None = None

    async def follow(self, job_id: str, after: int) -> AsyncGenerator[JobEvent]:
        """Yield a job's events after number `after`, up to its last one."""
        number = after
        async with self.open_feed(job_id) as feed:
            while not feed.is_broken:
                changed = feed.changed
                for event in feed.events[number:]:
                    number = event.number
                    yield event
                if feed.events and feed.events[-1].type in self.finals:
                    return
                await changed.wait()

    @asynccontextmanager
    async def open_feed(self, job_id: str) -> AsyncIterator[EventFeed]:
        """Open a job's feed and start the poller; its last client drops the feed."""
        feed = self.feeds.setdefault(job_id, EventFeed())
        feed.n_clients += 1
        if self.poller is None or self.poller.done():
            self.poller = asyncio.create_task(self.poll())
        try:
            yield feed
        finally:
            feed.n_clients -= 1
            # The poller may have dropped this feed, and another stream opened a new
            # one.
            if feed.n_clients == 0 and self.feeds.get(job_id) is feed:
                del self.feeds[job_id]

    async def poll(self) -> None:
        """Fetch new events until no stream is open."""
        try:
            while self.feeds and not self.is_stopping():
                await self.fetch_new()
                await asyncio.sleep(POLL_S)
        except SQLAlchemyError:
            LOGGER.exception("events.poll_failed")
        finally:
            # Streams must not outlive their poller; clients come back by themselves.
            for feed in self.feeds.values():
                feed.is_broken = True
                feed.wake()
            self.feeds.clear()

    async def fetch_new(self) -> None:
        """Fetch the events after the known ones, and add them to their feeds."""
        known = {job_id: len(feed.events) for job_id, feed in self.feeds.items()}
        for job_id, new in (await run_in_threadpool(self.fetch, known)).items():
            if job_id in self.feeds:
                self.feeds[job_id].add(new)


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
        with read_db(engine, caller.tenant_id) as db:
            is_resumed = last_event_id > 0
            if get(db, id).state in FINAL_STATES and is_resumed:
                to_come = trainings.events(db, {id: last_event_id})[id]
                if not to_come:
                    raise NothingToComeError
        return id

    return check


class EventKind(NamedTuple):
    """A kind of events: how they are fetched, their body, and which ones are last."""

    fetch: Callable[[Transaction, Mapping[str, int]], Events]
    body: type[BaseModel]
    finals: Sequence[str]


JOB_EVENTS = EventKind(trainings.events, TrainingEvent, FINAL_STATES)


def get_watch(request: Request, kind: EventKind) -> Watch:
    """Return the process's watch over a kind of events; make it on first use."""
    state = request.app.state

    def fetch(numbers: dict[str, int]) -> Events:
        with read_db(state.engine, None) as db:
            return kind.fetch(db, numbers)

    if not hasattr(state, "watches"):
        state.watches = {}
    watches: dict[EventKind, Watch] = state.watches
    new = Watch(fetch, lambda: bool(state.stopping), kind.finals)
    return watches.setdefault(kind, new)


async def stream_events(
    request: Request, id: str, last_event_id: int, kind: EventKind = JOB_EVENTS
) -> AsyncIterator[ServerSentEvent]:
    """Yield the events of a training, job or run until it has ended."""
    watch = get_watch(request, kind)
    async with aclosing(watch.follow(id, last_event_id)) as events:
        async for event in events:
            yield ServerSentEvent(
                data=kind.body.model_validate({**event.data, "at": event.at}),
                event=event.type,
                id=str(event.number),
                retry=RETRY_MS,
            )
