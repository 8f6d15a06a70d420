"""Stream the events of trainings, jobs and runs.

One poller serves all streams of a kind in a process.
"""

import asyncio
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from fastapi import Header, Request
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from askless.app.documents.http.trainings import TrainingEvent
from askless.app.errors import NothingToComeError
from askless.app.http.plumbing.auth import Called, caller_of
from askless.app.http.plumbing.deps import Engine, read_db
from askless.app.logs import LOGGER
from askless.app.records import FINAL_STATES, JobEvent, StoredJob
from askless.app.service.jobs import trainings
from askless.app.store.database.transactions import Transaction

Events = Mapping[str, tuple[JobEvent, ...]]
Fetch = Callable[[dict[str, int]], Events]

POLL_S = 0.25
# A proxy may close a connection on which nothing comes.
PING_S = 15.0
# A thousand streams take a fifth of a second to wake; each takes some 0.1 ms to send.
WOKEN_AT_ONCE = 20
WAKE_EVERY_S = 0.004


@dataclass
class EventFeed:
    """Events of one job so far, as they are sent, and the streams that wait for more.

    Each event is serialised once, for all streams.
    """

    blocks: list[bytes] = field(default_factory=list)
    has_ended: bool = False
    #: in the order in which they came
    waiting: dict[asyncio.Future[None], None] = field(default_factory=dict)
    n_clients: int = 0
    is_broken: bool = False

    async def wait(self) -> bool:
        """Wait for more; return False if nothing came for `PING_S`."""
        more = asyncio.get_running_loop().create_future()
        self.waiting[more] = None
        try:
            await asyncio.wait_for(more, PING_S)
        except TimeoutError:
            return False
        finally:
            self.waiting.pop(more, None)
        return True

    def wake(self) -> Iterator[None]:
        """Wake the streams that wait now; yield after each `WOKEN_AT_ONCE`."""
        waiting, self.waiting = self.waiting, {}
        for place, more in enumerate(waiting, 1):
            # One that has hung up, or got a ping, waits no more.
            if not more.done():
                more.set_result(None)
            if place % WOKEN_AT_ONCE == 0:
                yield


class Watch:
    """Polls while a stream is open; `kind` says how events are fetched and sent."""

    def __init__(
        self, fetch: Fetch, is_stopping: Callable[[], bool], kind: "EventKind"
    ) -> None:
        self.fetch = fetch
        self.is_stopping = is_stopping
        self.kind = kind
        self.feeds: dict[str, EventFeed] = {}
        self.poller: asyncio.Task[None] | None = None

    async def follow(self, job_id: str, after: int) -> AsyncGenerator[bytes]:
        """Yield a job's events after number `after`, up to its last one.

        Those that have come meanwhile are one block.
        """
        number = after
        async with self.open_feed(job_id) as feed:
            while not feed.is_broken:
                if number < len(feed.blocks):
                    blocks = feed.blocks[number:]
                    number += len(blocks)
                    yield b"".join(blocks)
                elif feed.has_ended:
                    return
                elif not await feed.wait():
                    yield KEEPALIVE_COMMENT

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
                deque(feed.wake(), maxlen=0)
            self.feeds.clear()

    async def fetch_new(self) -> None:
        """Fetch the events after the known ones, and add them to their feeds."""
        known = {job_id: len(feed.blocks) for job_id, feed in self.feeds.items()}
        for job_id, new in (await run_in_threadpool(self.fetch, known)).items():
            if job_id in self.feeds and new:
                await self.add(self.feeds[job_id], new)

    async def add(self, feed: EventFeed, new: Sequence[JobEvent]) -> None:
        """Add the new events; numbers have no gaps, so the count is the last one.

        Streams are woken some at a time: other requests are answered in between.
        """
        added = [event for event in new if event.number > len(feed.blocks)]
        # After a gap nothing is added: the next poll fetches all that is missing.
        if not added or added[0].number != len(feed.blocks) + 1:
            return
        feed.blocks += map(self.kind.serialise, added)
        feed.has_ended = added[-1].type in self.kind.finals
        for _ in feed.wake():
            await asyncio.sleep(0.0 if self.is_stopping() else WAKE_EVERY_S)


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

    def serialise(self, event: JobEvent) -> bytes:
        """Return an event as it is sent."""
        body = self.body.model_validate({**event.data, "at": event.at})
        return format_sse_event(
            data_str=body.model_dump_json(),
            event=event.type,
            id=str(event.number),
            retry=RETRY_MS,
        )


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
    new = Watch(fetch, lambda: bool(state.stopping), kind)
    return watches.setdefault(kind, new)


class EventStream(StreamingResponse):
    """The events of a training, job or run until it has ended."""

    media_type = "text/event-stream"
    events: AsyncGenerator[bytes]
    #: taken while it is open
    place: AbstractContextManager[None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self.place:
            async with aclosing(self.events):
                await super().__call__(scope, receive, send)


def follow_events(
    request: Request, id: str, last_event_id: int, kind: EventKind = JOB_EVENTS
) -> EventStream:
    """Return the stream of a job after one of its events; it may be refused (429)."""
    events = get_watch(request, kind).follow(id, last_event_id)
    # Proxies are to pass on each event as it comes.
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    stream = EventStream(events, headers=headers)
    stream.events = events
    stream.place = request.app.state.guard.open_stream(caller_of(request))
    return stream
