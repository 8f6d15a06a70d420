"""Limit how many files are read at once, and stop when the caller hangs up."""

from collections.abc import Callable
from functools import partial
from threading import Event
from typing import TypeVar

from anyio import CapacityLimiter, create_task_group, fail_after, sleep, to_thread
from fastapi import HTTPException, Request
from starlette.requests import ClientDisconnect

from askless.app.errors import UnwantedError
from askless.app.service.datasets import IsWanted

T = TypeVar("T")
LOOK_EVERY_S = 0.5
BUSY = "Others are being read. Send this one again soon."
RETRY_AFTER = {"Retry-After": "10"}


async def read_in_turn(
    request: Request,
    read: Callable[[IsWanted], T],
    places: CapacityLimiter | None = None,
) -> T:
    """Read a file in a thread once a place is free; 503 if that takes too long.

    `read` receives a function that returns whether the caller still waits. `places`
    None: those of tables.
    """
    state = request.app.state
    places = places or state.reading_places
    try:
        with fail_after(state.settings.parse_timeout_s):
            await places.acquire_on_behalf_of(request)
    except TimeoutError:
        raise HTTPException(503, BUSY, headers=RETRY_AFTER) from None
    try:
        return await read_until_hangup(request, read)
    finally:
        places.release_on_behalf_of(request)


async def read_until_hangup(request: Request, read: Callable[[IsWanted], T]) -> T:
    """Read in a thread; cancel by `IsWanted` when the caller hangs up."""
    gone = Event()
    results: list[T] = []
    errors: list[Exception] = []

    async def work() -> None:
        try:
            act = partial(read, lambda: not gone.is_set())
            # A thread of its own kind, so that no other request waits for this one.
            results.append(await to_thread.run_sync(act, limiter=CapacityLimiter(1)))
        except UnwantedError:
            errors.append(ClientDisconnect())
        except Exception as error:  # To be raised as it is, not in a group.
            errors.append(error)
        # Ends the wait for a hang-up below.
        group.cancel_scope.cancel()

    async with create_task_group() as group:
        group.start_soon(work)
        try:
            while not await request.is_disconnected():
                await sleep(LOOK_EVERY_S)
        finally:
            gone.set()
    if errors:
        raise errors[0]
    return results[0]
