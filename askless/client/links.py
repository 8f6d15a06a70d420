"""One implementation for programs that wait and for those that await.

All calls are written once, as coroutines over a link. A `WaitingLink` never suspends,
so `run` finishes such a coroutine without an event loop. A method that is a
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
    """A class whose calls block until the response is there."""


class Awaited:
    """A class whose calls are coroutines."""


W = TypeVar("W", bound=Waiting)
A = TypeVar("A", bound=Awaited)


class Link(Protocol):
    """Sends requests, and sleeps between them."""

    async def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Send a request; return its response, read whole."""

    def stream(self, path: str, **more: Any) -> AbstractAsyncContextManager[Streamed]:
        """Open a response to read by lines; one without success is read whole."""

    async def sleep(self, seconds: float) -> None:
        """Sleep for a time."""

    async def close(self) -> None:
        """Close all connections."""


@dataclass(frozen=True)
class WaitingLink:
    """A link whose coroutines never suspend."""

    http: httpx.Client

    async def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Send a request; return its response, read whole."""
        return self.http.request(method, path, **more)

    @asynccontextmanager
    async def stream(self, path: str, **more: Any) -> AsyncIterator[Streamed]:
        """Open a response to read by lines; one without success is read whole."""
        with self.http.stream("GET", path, **more) as response:
            if not response.is_success:
                response.read()
            yield response, as_async(response.iter_lines())

    async def sleep(self, seconds: float) -> None:
        """Sleep for a time."""
        time.sleep(seconds)

    async def close(self) -> None:
        """Close all connections."""
        self.http.close()


@dataclass(frozen=True)
class AwaitedLink:
    """A link for event loops."""

    http: httpx.AsyncClient

    async def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Send a request; return its response, read whole."""
        return await self.http.request(method, path, **more)

    @asynccontextmanager
    async def stream(self, path: str, **more: Any) -> AsyncIterator[Streamed]:
        """Open a response to read by lines; one without success is read whole."""
        async with self.http.stream("GET", path, **more) as response:
            if not response.is_success:
                await response.aread()
            yield response, response.aiter_lines()

    async def sleep(self, seconds: float) -> None:
        """Sleep for a time."""
        await anyio.sleep(seconds)

    async def close(self) -> None:
        """Close all connections."""
        await self.http.aclose()


async def as_async(lines: Iterator[str]) -> AsyncIterator[str]:
    """Yield an iterator's lines as an asynchronous one, without suspending."""
    for line in lines:
        yield line


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, and return its result."""
    try:
        work.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    work.close()
    raise AssertionError("a waiting link has no event loop")


class Call(Generic[P, T]):
    """A method written as a coroutine; it blocks in a `Waiting` class."""

    def __init__(
        self, function: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]
    ) -> None:
        self.function = function

    @overload
    def __get__(
        self, owner: None, kind: type
    ) -> Callable[Concatenate[Any, P], Any]: ...
    @overload
    def __get__(self, owner: Waiting, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, owner: Awaited, kind: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, owner: Any, kind: type) -> Any:
        return bind(self.function, owner, kind)


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
    ) -> Callable[Concatenate[Any, P], Any]: ...
    @overload
    def __get__(self, owner: W, kind: type) -> Callable[P, W]: ...
    @overload
    def __get__(self, owner: A, kind: type) -> Callable[P, Coroutine[Any, Any, A]]: ...
    def __get__(self, owner: Any, kind: type) -> Any:
        return bind(self.function, owner, kind)


def bind(
    function: Callable[..., Coroutine[Any, Any, Any]], owner: Any, kind: type
) -> Any:
    """Bind a coroutine function to its owner: blocking unless that is `Awaited`."""

    @wraps(function)
    def block(owner: Any, *given: Any, **named: Any) -> Any:
        return run(function(owner, *given, **named))

    # Read from the class itself, as `help` does: there is no owner to bind.
    if owner is None:
        return block if issubclass(kind, Waiting) else function
    return MethodType(function if isinstance(owner, Awaited) else block, owner)
