"""What a process may take of the machine, and whether that was too much."""

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PAGES = Path("/proc/self/statm")
# Of this container, else of the machine.
KILLS = (Path("/sys/fs/cgroup/memory.events"), Path("/proc/vmstat"))
PREFERENCE = Path("/proc/self/oom_score_adj")
# As threads say it, which are no MemoryError.
NO_THREAD = "can't start new thread"


@contextmanager
def limited(n_bytes: int | None) -> Iterator[None]:
    """Bound what the block may take beyond what the process has; on Linux alone."""
    if n_bytes is None or not PAGES.is_file():
        yield
        return
    bounds = resource.getrlimit(resource.RLIMIT_DATA)
    held = int(PAGES.read_text().split()[5]) * resource.getpagesize()
    most = held + n_bytes
    if bounds[0] != resource.RLIM_INFINITY:
        most = min(most, bounds[0])
    resource.setrlimit(resource.RLIMIT_DATA, (most, bounds[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, bounds)


def is_memory_short(error: Exception) -> bool:
    """Whether an exception says that memory has come to an end, or was made of that."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    is_short = isinstance(error, MemoryError) or NO_THREAD in str(error)
    return is_short or isinstance(error.__context__, MemoryError)


def be_killed_first() -> None:
    """Let the system kill this process, rather than another, where memory ends."""
    with suppress(OSError):
        PREFERENCE.write_text("500")


def count_kills() -> int | None:
    """Return how many processes the system has killed for want of memory."""
    for file in KILLS:
        with suppress(OSError):
            counts = dict(line.split() for line in file.read_text().splitlines())
            return int(counts["oom_kill"])
    return None
