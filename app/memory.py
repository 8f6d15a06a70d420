"""How much memory is left on this machine, or in this container."""

from pathlib import Path

MEMORY_INFO = Path("/proc/meminfo")
CONTAINER = Path("/sys/fs/cgroup")


def available_bytes(
    memory_info: Path = MEMORY_INFO, container: Path = CONTAINER
) -> int | None:
    """Give the bytes that may still be taken; None where the system doesn't tell."""
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
    return min(limits, default=None)
