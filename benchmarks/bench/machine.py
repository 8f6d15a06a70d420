"""What the figures depend on."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.bench.scale import THREADS

PACKAGES = ("numpy", "numba", "scikit-learn", "lightgbm", "xgboost")


def machine() -> dict[str, Any]:
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(
            os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1
        ),
        "threads": THREADS,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in PACKAGES},
    }


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def load() -> float:
    """Processes that ran or waited in the last minute, on average."""
    return round(os.getloadavg()[0], 2)


def processor() -> str:
    """Name of the processor where the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()
