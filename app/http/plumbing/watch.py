"""Follows the events of trainings: one poller for all the streams of a process."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

from app.logs import LOGGER
from app.records import FINAL_STATES, JobEvent

Events = Mapping[str, tuple[JobEvent, ...]]
Fetch = Callable[[dict[str, int]], Events]

POLL_S = 0.25


@dataclass
class EventFeed:
    """One training's events from the first on, and who waits for more of them."""

    events: list[JobEvent] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    n_clients: int = 0
    is_broken: bool = False

    def add(self, new: Sequence[JobEvent]) -> None:
        """Add what comes next; numbers have no gaps, so a position is a number."""
        added = [event for event in new if event.number > len(self.events)]
        if added and added[0].number == len(self.events) + 1:
            self.events += added
            self.wake()

    def wake(self) -> None:
        """Wake all who wait, and let the next ones wait anew."""
        self.changed.set()
        self.changed = asyncio.Event()


class Watch:
    """Polls while anybody follows anything; `fetch` gives events after numbers."""

    def __init__(self, fetch: Fetch, is_stopping: Callable[[], bool]) -> None:
        self.fetch = fetch
        self.is_stopping = is_stopping
        self.followed: dict[str, EventFeed] = {}
        self.poller: asyncio.Task[None] | None = None

    async def follow(self, training_id: str, after: int) -> AsyncGenerator[JobEvent]:
        """Yield a training's events after a number, to its last one."""
        number = after
        async with self.following(training_id) as followed:
            while not followed.is_broken:
                changed = followed.changed
                for event in followed.events[number:]:
                    number = event.number
                    yield event
                if followed.events and followed.events[-1].type in FINAL_STATES:
                    return
                await changed.wait()

    @asynccontextmanager
    async def following(self, training_id: str) -> AsyncIterator[EventFeed]:
        followed = self.followed.setdefault(training_id, EventFeed())
        followed.n_clients += 1
        if self.poller is None or self.poller.done():
            self.poller = asyncio.create_task(self.poll())
        try:
            yield followed
        finally:
            followed.n_clients -= 1
            if followed.n_clients == 0 and self.followed.get(training_id) is followed:
                del self.followed[training_id]

    async def poll(self) -> None:
        """Fetch what is new until nobody follows anything any more."""
        try:
            while self.followed and not self.is_stopping():
                await self.take_new()
                await asyncio.sleep(POLL_S)
        except SQLAlchemyError:
            LOGGER.exception("events.poll_failed")
        finally:
            # Streams must not outlive their poller; clients come back by themselves.
            for followed in self.followed.values():
                followed.is_broken = True
                followed.wake()
            self.followed.clear()

    async def take_new(self) -> None:
        known = {key: len(one.events) for key, one in self.followed.items()}
        for key, new in (await run_in_threadpool(self.fetch, known)).items():
            if key in self.followed:
                self.followed[key].add(new)
