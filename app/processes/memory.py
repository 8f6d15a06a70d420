"""How much memory is left on this machine, in this container, to this process."""

import resource
from pathlib import Path

MEMORY_INFO = Path("/proc/meminfo")
CONTAINER = Path("/sys/fs/cgroup")
PROCESS_PAGES = Path("/proc/self/statm")


def available_bytes(
    memory_info: Path = MEMORY_INFO,
    container: Path = CONTAINER,
    process_limit: int | None = None,
    process_pages: Path = PROCESS_PAGES,
) -> int | None:
    """Return the bytes that may still be taken; None where the system doesn't tell."""
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
        taken = int(process_pages.read_text().split()[0]) * resource.getpagesize()
        limits.append(max(0, most_addresses - taken))
    return min(limits, default=None)
