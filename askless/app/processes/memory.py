"""Memory: how much is left to this process, its limits, and how it runs out."""

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from askless.app.processes.child import ChildLostError

MEMORY_INFO = Path("/proc/meminfo")
CONTAINER = Path("/sys/fs/cgroup")
# In pages: all addresses first, data sixth.
PROCESS_PAGES = Path("/proc/self/statm")
# Of this container, else of the machine.
KILLS = (CONTAINER / "memory.events", Path("/proc/vmstat"))
OOM_SCORE = Path("/proc/self/oom_score_adj")
# What a RuntimeError says when the system has no memory for a thread.
NO_THREAD = "can't start new thread"


def available_bytes(
    memory_info: Path = MEMORY_INFO,
    container: Path = CONTAINER,
    process_limit: int | None = None,
    process_pages: Path = PROCESS_PAGES,
) -> int | None:
    """Return the memory that is still free; None if the system doesn't tell.

    `process_limit` is the limit on this process's addresses, by default the system's.
    The other arguments are files of Linux, which tests replace.
    """
    limits = []
    if memory_info.is_file():
        limits += [
            1024 * int(line.split()[1])
            for line in memory_info.read_text().splitlines()
            if line.startswith("MemAvailable:")
        ]
    most, current = container / "memory.max", container / "memory.current"
    if most.is_file() and current.is_file():
        text = most.read_text().strip()
        if text != "max":
            limits.append(max(0, int(text) - int(current.read_text())))
    most_addresses = process_limit or resource.getrlimit(resource.RLIMIT_AS)[0]
    if process_pages.is_file() and most_addresses != resource.RLIM_INFINITY:
        used = int(process_pages.read_text().split()[0]) * resource.getpagesize()
        limits.append(max(0, most_addresses - used))
    return min(limits, default=None)


@contextmanager
def limit_memory(n_bytes: int | None) -> Iterator[None]:
    """Limit the bytes that the block may take, on Linux alone; None: no limit."""
    if n_bytes is None or not PROCESS_PAGES.is_file():
        yield
        return
    before = soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    used = int(PROCESS_PAGES.read_text().split()[5]) * resource.getpagesize()
    most = used + n_bytes
    if soft != resource.RLIM_INFINITY:
        most = min(most, soft)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def is_memory_short(error: Exception) -> bool:
    """Return whether an exception, or its cause, means that memory ran out."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if isinstance(error, ChildLostError):
        return error.is_out_of_memory
    is_short = isinstance(error, MemoryError) or NO_THREAD in str(error)
    return is_short or isinstance(error.__context__, MemoryError)


def raise_kill_priority(score: int) -> None:
    """Have the system kill this process before others of a lower score, up to 1,000."""
    with suppress(OSError):
        OOM_SCORE.write_text(str(score))


def count_kills() -> int | None:
    """Return how many processes the system has killed because memory ran out."""
    for file in KILLS:
        with suppress(OSError):
            counts = dict(line.split() for line in file.read_text().splitlines())
            return int(counts["oom_kill"])
    return None
