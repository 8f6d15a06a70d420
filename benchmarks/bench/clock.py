"""Times, what is kept of them, and measuring in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

import numpy as np

Name = TypeVar("Name", bound=Hashable)

# Lets threads that spin after their work fall asleep before the next one's turn.
PAUSE_S = 0.05


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def spread(seconds: list[float]) -> dict[str, float]:
    return {
        "median_s": round(float(np.median(seconds)), 6),
        "min_s": round(min(seconds), 6),
        "max_s": round(max(seconds), 6),
        "runs": len(seconds),
    }


def quantiles(seconds: list[float]) -> dict[str, float]:
    p50, p95 = np.percentile(1e6 * np.array(seconds), (50, 95))
    return {
        "p50_us": round(float(p50), 1),
        "p95_us": round(float(p95), 1),
        "calls": len(seconds),
    }


def take_turns(
    tasks: Mapping[Name, Callable[[], float]], n_runs: int, title: str
) -> dict[Name, list[float]]:
    """Do every task once unmeasured, then `n_runs` times in turn.

    A task gives its own seconds. Each run begins with another task, so that none
    always follows the same one's start.
    """
    names = list(tasks)
    seconds: dict[Name, list[float]] = {name: [] for name in names}
    for number in range(n_runs + 1):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            time.sleep(PAUSE_S)
            taken = tasks[name]()
            if number:
                seconds[name].append(taken)
        print(f"{title}: run {number} of {n_runs}", flush=True)
    return seconds
