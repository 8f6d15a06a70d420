"""Functions that run in a child process with limits of memory and time.

For work that may take more than expected, such as reading a file that a stranger wrote:
whatever the child does, its memory is free again once it has ended.
"""

import ctypes
import io
import os
import resource
import shutil
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from typing import IO, Any

from askless.app.errors import UnwantedError
from askless.app.processes.child import Child, ChildLostError, fork_context
from askless.app.processes.memory import limit_memory, raise_kill_priority
from askless.core.errors import CoreError, Refusal, RefusedError

# pyarrow's own pool reserves memory in large pieces, which would count as taken. For
# children, and for their parent if it has not imported pyarrow yet.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
# Requests start children in several threads; see `Child`.
ONE_THREAD = threading.Lock()
# How often a waiting parent asks whether the result is still wanted.
LOOK_EVERY_S = 0.2
# Added to the processor time of a child, which its parent kills earlier.
SPARE_S = 5
# glibc's parameter: from this size on, freed memory goes back to the system at once.
M_MMAP_THRESHOLD, LARGE_PIECE = -3, 1 << 17
# How a process ends when it is refused memory.
MEMORY_SIGNALS = (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS)

#: Asks whether anybody still waits for a result.
IsWanted = Callable[[], bool]


@dataclass(frozen=True)
class ChildLimits:
    """Limits of a child: memory beyond that at its start, and seconds."""

    memory_bytes: int
    timeout_s: float
    #: what is read, as its refusals name it
    noun: str = "table"

    def explain(self, lost: ChildLostError) -> CoreError:
        """Return the error that explains a child's death, such as a limit passed."""
        if lost.is_out_of_time:
            return self.time_error()
        return self.memory_error() if lost.is_out_of_memory else lost

    def memory_error(self) -> RefusedError:
        """Return the refusal of what takes too much memory."""
        most = self.memory_bytes / 1e6
        rule = f"reading and checking it must take at most {most:,.0f} MB of memory"
        return RefusedError([Refusal(self.noun, rule)])

    def time_error(self) -> RefusedError:
        """Return the refusal of what takes too long."""
        rule = f"reading and checking it must take at most {self.timeout_s:g} seconds"
        return RefusedError([Refusal(self.noun, rule)])


def is_always_wanted() -> bool:
    """Return True: the result is always wanted."""
    return True


def run_limited(
    limits: ChildLimits,
    source: IO[bytes] | None,
    function: Callable[..., Any],
    *arguments: Any,
    is_wanted: IsWanted = is_always_wanted,
) -> Any:
    """Return `function(file, *arguments)`, computed in a child process.

    `source` is the content of the file; None: it is empty.
    Raises RefusedError if the function does or a limit is passed, UnwantedError once
    `is_wanted` returns False, and ChildLostError for any other end of the child.
    """
    with open_as_os_file(source) as file:
        with ONE_THREAD:
            child = Child.start(
                *(fork_context(function), run_function),
                *(limits, function, arguments),
                memory_signals=MEMORY_SIGNALS,
            )
        try:
            child.send_file(file)
            wait_for_result(child.channel, limits, is_wanted)
            with ONE_THREAD:
                return child.receive()
        except ChildLostError as lost:
            raise limits.explain(lost) from None
        finally:
            with ONE_THREAD:
                child.end()


def wait_for_result(
    channel: Connection, limits: ChildLimits, is_wanted: IsWanted
) -> None:
    """Wait until a child has sent its result, or has ended.

    Raises UnwantedError once nobody waits for it, RefusedError after too long.
    """
    deadline = time.monotonic() + limits.timeout_s
    while not channel.poll(LOOK_EVERY_S):
        if not is_wanted():
            raise UnwantedError
        if time.monotonic() > deadline:
            raise limits.time_error()


@contextmanager
def open_as_os_file(source: IO[bytes] | None) -> Iterator[IO[bytes]]:
    """Yield a file of the operating system with the whole content of a stream."""
    if source is None:
        with open(os.devnull, "rb") as empty:
            yield empty
        return
    source.seek(0)
    if isinstance(source, tempfile.SpooledTemporaryFile):
        # The upload moves from memory to a file on disk.
        source.rollover()
        source.flush()
    try:
        source.fileno()
    except (AttributeError, io.UnsupportedOperation):
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(source, copy)
            copy.seek(0)
            yield copy
    else:
        yield source


def run_function(
    channel: Connection,
    limits: ChildLimits,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    """Run the function in the child; send its result or its exception."""
    limit_process(limits.timeout_s)
    result: Any
    try:
        with (
            os.fdopen(recv_handle(channel), "rb") as file,
            limit_memory(limits.memory_bytes),
        ):
            file.seek(0)
            result = function(file, *arguments)
    except RefusedError as error:
        result = error
    except MemoryError:
        result = limits.memory_error()
    except Exception as error:  # Outermost: a message could repeat a user's value.
        places = "".join(traceback.format_tb(error.__traceback__))
        result = ChildLostError(f"{type(error).__name__}\n{places}")
    channel.send(result)


def limit_process(timeout_s: float) -> None:
    """Limit the processor time of this process, and make it the first to be killed."""
    seconds = int(timeout_s) + SPARE_S
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Else pieces that shrink leave holes, which count as taken: 2.9 GB were seen for a
    # CSV of 1,000 columns and 3.5 MB.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_PIECE)
    raise_kill_priority(1000)
