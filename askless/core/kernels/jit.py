"""The decorators every compiled function uses; defined once."""

from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

from numba import config, get_num_threads, njit, set_num_threads
from numba.core import event

from askless.core import machine_code

#: Settings of numba; it makes their names at run time.
NUMBA: Any = config
#: of the machine code of the kernels as they are
FOLDER = machine_code.choose_folder(NUMBA.CACHE_DIR)
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
    """Compile a function, and keep its machine code until any kernel's file is edited.

    numba itself notices edits of the function's own file only, although the code of
    the kernels that it calls is part of its machine code. The folder is named by a
    hash of all kernels' files, so that a kernel may call those of other files.
    """
    return compile_into_folder(function)


def parallel_kernel(function: Callable[..., Any]) -> Any:
    """Compile as `kernel` does, for all cores at once."""
    return compile_into_folder(function, parallel=True)


def compile_into_folder(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function into `FOLDER`; other people's functions stay where they are.

    numba chooses where to keep a function when it is decorated.
    """
    before, NUMBA.CACHE_DIR = NUMBA.CACHE_DIR, FOLDER
    try:
        return njit(**OPTIONS, **options)(function)
    finally:
        NUMBA.CACHE_DIR = before


def serial_and_parallel(body: Callable[..., Any]) -> tuple[Any, Any]:
    """Return a function with a `prange` compiled for one core, and for all.

    numba's cache knows a function by its name and line, so the twin has another name.
    """
    function = cast(FunctionType, body)
    name = f"{function.__name__}_parallel"
    twin = FunctionType(function.__code__, function.__globals__, name)
    twin.__qualname__, twin.__doc__ = name, function.__doc__
    return kernel(function), parallel_kernel(twin)
