"""One implementation for programs that wait and for those that await.

All calls are written once, as coroutines over a link. A `WaitingLink` never suspends,
so `run` takes what hangs on it to its end without an event loop. A method that is a
`Call` is plain in a class that is `Waiting`, and a coroutine in one that is `Awaited`.
"""

import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

import anyio
import httpx

P = ParamSpec("P")
T = TypeVar("T")
Streamed = tuple[httpx.Response, AsyncIterator[str]]


class Waiting:
    """Has calls that wait for their answers."""


class Awaited:
    """Has calls that are awaited."""


W = TypeVar("W", bound=Waiting)
A = TypeVar("A", bound=Awaited)


class Link(Protocol):
    """Sends requests, and sleeps between them."""

    async def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Return the answer to a request, read whole."""

    def stream(self, path: str, **more: Any) -> AbstractAsyncContextManager[Streamed]:
        """Open an answer to be read by lines; one that is no success is read whole."""

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""

    async def close(self) -> None:
        """Close all connections."""


@dataclass(frozen=True)
class WaitingLink:
    """A link whose coroutines never suspend."""

    http: httpx.Client

    async def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Return the answer to a request, read whole."""
        return self.http.request(method, path, **more)

    @asynccontextmanager
    async def stream(self, path: str, **more: Any) -> AsyncIterator[Streamed]:
        """Open an answer to be read by lines; one that is no success is read whole."""
        with self.http.stream("GET", path, **more) as response:
            if not response.is_success:
                response.read()
            yield response, one_by_one(response.iter_lines())

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    async def close(self) -> None:
        """Close all connections."""
        self.http.close()


@dataclass(frozen=True)
class AwaitedLink:
    """A link for event loops."""

    http: httpx.AsyncClient

    async def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Return the answer to a request, read whole."""
        return await self.http.request(method, path, **more)

    @asynccontextmanager
    async def stream(self, path: str, **more: Any) -> AsyncIterator[Streamed]:
        """Open an answer to be read by lines; one that is no success is read whole."""
        async with self.http.stream("GET", path, **more) as response:
            if not response.is_success:
                await response.aread()
            yield response, response.aiter_lines()

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await anyio.sleep(seconds)

    async def close(self) -> None:
        """Close all connections."""
        await self.http.aclose()


async def one_by_one(lines: Iterator[str]) -> AsyncIterator[str]:
    """Yield what an iterator yields."""
    for line in lines:
        yield line


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns that never suspends."""
    try:
        work.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    work.close()
    raise AssertionError("a waiting link has no event loop")


class Call(Generic[P, T]):
    """A coroutine as a method: in a waiting class it waits, else it is awaited."""

    def __init__(
        self, function: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]
    ) -> None:
        self.function = function

    @overload
    def __get__(
        self, owner: None, kind: type
    ) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, owner: Waiting, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, owner: Awaited, kind: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, owner: Any, kind: type) -> Any:
        return bound(self.function, owner)


class Change(Generic[P]):
    """A `Call` that returns the object that it was called on."""

    def __init__(
        self, function: Callable[Concatenate[Any, P], Coroutine[Any, Any, object]]
    ) -> None:
        @wraps(function)
        async def change(owner: Any, *given: P.args, **named: P.kwargs) -> Any:
            await function(owner, *given, **named)
            return owner

        self.function = change

    @overload
    def __get__(
        self, owner: None, kind: type
    ) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, Any]]: ...
    @overload
    def __get__(self, owner: W, kind: type) -> Callable[P, W]: ...
    @overload
    def __get__(self, owner: A, kind: type) -> Callable[P, Coroutine[Any, Any, A]]: ...
    def __get__(self, owner: Any, kind: type) -> Any:
        return bound(self.function, owner)


def bound(function: Callable[..., Coroutine[Any, Any, Any]], owner: Any) -> Any:
    """Return a coroutine function as the method of an object, or of none as it is."""

    @wraps(function)
    def waits(owner: Any, *given: Any, **named: Any) -> Any:
        return run(function(owner, *given, **named))

    if owner is None:
        return function
    return MethodType(function if isinstance(owner, Awaited) else waits, owner)
