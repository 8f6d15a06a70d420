"""Functions run in a child process, with limits of memory and time.

For what may take more than is foreseen, such as reading a file that others wrote: the
child ends, and the memory is back, whatever it did.
"""

import ctypes
import io
import multiprocessing
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
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from typing import IO, Any

from app.errors import UnwantedError
from core.errors import Refusal, RefusedError

# pyarrow's own pool reserves memory in large pieces, which would count as taken. For
# children, and for their parent where it has not imported it yet.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
# Children are forked from a process that has imported what they need: forking takes
# milliseconds, importing most of a second.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["app.uploads.parsing", "app.batch.checking"])
# Whoever starts a child asks how the others are, and two who ask at once err.
ASKING = threading.Lock()
# How often a waiting parent looks whether the answer is still wanted.
LOOK_EVERY_S = 0.2
# Of a child that its parent can't end any more; it counts processor time.
SPARE_S = 5
# glibc's parameter, and from what size on a piece of memory is given back by itself.
M_MMAP_THRESHOLD, LARGE_PIECE = -3, 1 << 17
OUT_OF_MEMORY = (-signal.SIGKILL, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS)
DATA_PAGES = Path("/proc/self/statm")
OOM_SCORE = Path("/proc/self/oom_score_adj")


class ChildError(Exception):
    """A child made a mistake of ours; the message says where, without any value."""


@dataclass(frozen=True)
class ChildLimits:
    """What one child may take: bytes of memory beyond its start, and seconds."""

    memory_bytes: int
    timeout_s: float

    def refuse_memory(self) -> RefusedError:
        most = self.memory_bytes / 1e6
        rule = f"reading and checking it must take at most {most:,.0f} MB of memory"
        return RefusedError([Refusal("table", rule)])

    def refuse_time(self) -> RefusedError:
        rule = f"reading and checking it must take at most {self.timeout_s:g} seconds"
        return RefusedError([Refusal("table", rule)])


Wanted = Callable[[], bool]


def is_always_wanted() -> bool:
    return True


def run_apart(
    limits: ChildLimits,
    source: IO[bytes] | None,
    function: Callable[..., Any],
    *arguments: Any,
    is_wanted: Wanted = is_always_wanted,
) -> Any:
    """Return `function(file, *arguments)` as a child computes it from a file.

    Where there is no source the file is empty.
    Raises RefusedError where the function does, and where a limit is passed;
    UnwantedError once `is_wanted` says so, and ChildError.
    """
    ours, theirs = CONTEXT.Pipe()
    child = CONTEXT.Process(
        target=answer, args=(theirs, limits, function, arguments), daemon=True
    )
    with ours, theirs, as_file(source) as file:
        with ASKING:
            child.start()
        # So that the child's end is the end of what comes.
        theirs.close()
        try:
            send_handle(ours, file.fileno(), child.pid)
            wait(ours, limits, is_wanted)
            return receive(ours)
        except (EOFError, ConnectionError):
            with ASKING:
                child.join(SPARE_S)
            raise death(child.exitcode, limits) from None
        finally:
            child.kill()
            with ASKING:
                child.join()
                child.close()


def wait(connection: Connection, limits: ChildLimits, is_wanted: Wanted) -> None:
    """Wait until a child answers."""
    deadline = time.monotonic() + limits.timeout_s
    while not connection.poll(LOOK_EVERY_S):
        if not is_wanted():
            raise UnwantedError
        if time.monotonic() > deadline:
            raise limits.refuse_time()


def receive(connection: Connection) -> Any:
    """Receive what a child has sent; raises what it raised."""
    kind, found = connection.recv()
    if kind == "refused":
        raise RefusedError(found)
    if kind == "crashed":
        raise ChildError(found)
    return found


def death(code: int | None, limits: ChildLimits) -> Exception:
    """Return why a child ended without an answer."""
    if code == -signal.SIGXCPU:
        return limits.refuse_time()
    if code in OUT_OF_MEMORY:
        return limits.refuse_memory()
    return ChildError(f"a child ended with code {code}")


@contextmanager
def as_file(source: IO[bytes] | None) -> Iterator[IO[bytes]]:
    """Yield a file of the system with what a stream has, from its beginning."""
    if source is None:
        with open(os.devnull, "rb") as empty:
            yield empty
        return
    source.seek(0)
    if isinstance(source, tempfile.SpooledTemporaryFile):
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


def answer(
    connection: Connection,
    limits: ChildLimits,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    """Compute in the child, and send what was found."""
    limit_self(limits)
    # The terminal's; whoever waits is told, and ends this.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with os.fdopen(recv_handle(connection), "rb") as file:
            file.seek(0)
            said = "done", function(file, *arguments)
    except RefusedError as error:
        said = "refused", error.refusals
    except MemoryError:
        said = "refused", limits.refuse_memory().refusals
    except Exception as error:  # Outermost: the parent tells, without any value.
        places = "".join(traceback.format_tb(error.__traceback__))
        said = "crashed", f"{type(error).__name__}\n{places}"
    connection.send(said)


def limit_self(limits: ChildLimits) -> None:
    """Limit this process; where the system has too little memory it goes first."""
    seconds = int(limits.timeout_s) + SPARE_S
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if DATA_PAGES.is_file():
        taken = int(DATA_PAGES.read_text().split()[5]) * resource.getpagesize()
        most = taken + limits.memory_bytes
        # Else pieces that are made smaller leave holes, which count: 2.9 GB were seen
        # for a CSV of 1,000 columns and 3.5 MB.
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_PIECE)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    with suppress(OSError):
        OOM_SCORE.write_text("1000")
