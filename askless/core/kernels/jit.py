"""The decorators every compiled function uses; defined once."""

from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

from numba import get_num_threads, njit, set_num_threads
from numba.core import event

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}


def count_threads() -> int:
    """Return the number of threads that parallel kernels use."""
    return int(get_num_threads())


def use_threads(most: int) -> None:
    """Let at most `most` threads compute at once, at least one."""
    set_num_threads(max(1, min(most, count_threads())))


class FirstCompilation(event.Listener):
    """Call `say` at the first compilation; loading from the cache is none."""

    def __init__(self, say: Callable[[], object]) -> None:
        self.say: Callable[[], object] | None = say

    def on_start(self, event: object) -> None:
        """Call `say` the first time."""
        del event
        say, self.say = self.say, None
        if say is not None:
            say()

    def on_end(self, event: object) -> None:
        """Do nothing at the end."""
        del event


def watch_compiling(say: Callable[[], object]) -> Any:
    """Return a context that calls `say` once if a kernel is compiled within it."""
    return event.install_listener("numba:compile", FirstCompilation(say))


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function; recompile it after an edit of its file or of a callee's."""
    return watch_callees(njit(**OPTIONS)(function), function)


def parallel_kernel(function: Callable[..., Any]) -> Any:
    """Compile as `kernel` does, for all cores at once."""
    return watch_callees(njit(**OPTIONS, parallel=True)(function), function)


def watch_callees(compiled: Any, function: Callable[..., Any]) -> Any:
    """Let the cache of a kernel notice edits of the kernels that it calls.

    numba keeps machine code as long as the stamp of a function's own file stays the
    same, although the code of inner functions is part of it. So the stamps of their
    files are added to it. A record (NamedTuple) stands in the file of the kernels that
    read it, so that a kernel that takes a record notices its edits too.
    """
    if hasattr(compiled, "_cache"):
        names = function.__code__.co_names
        named: list[Any] = [function.__globals__.get(name) for name in names]
        called = (one for one in named if hasattr(one, "_cache"))
        file = compiled._cache._cache_file
        stamps = (one._cache._cache_file._source_stamp for one in called)
        file._source_stamp = (file._source_stamp, *stamps)
        forget_lost_records(file)
    return compiled


def forget_lost_records(file: Any) -> None:
    """Empty a kernel's cache if it names a record that no longer exists.

    numba reads the records before it compares the stamps, and would fail.
    """
    try:
        file._load_index()
    except (AttributeError, ImportError):
        file.flush()


def serial_and_parallel(body: Callable[..., Any]) -> tuple[Any, Any]:
    """Return a function with a `prange` compiled for one core, and for all.

    numba's cache knows a function by its name and line, so the twin has another name.
    """
    function = cast(FunctionType, body)
    name = f"{function.__name__}_parallel"
    twin = FunctionType(function.__code__, function.__globals__, name)
    twin.__qualname__, twin.__doc__ = name, function.__doc__
    return kernel(function), parallel_kernel(twin)
