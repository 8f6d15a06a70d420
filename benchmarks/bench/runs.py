"""Measure in turn, each party in a process of its own, and keep what was taken."""

import multiprocessing
import os
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ProcessPoolExecutor
from types import MappingProxyType
from typing import Any, TypeVar
from unittest.mock import patch

import numpy as np

from benchmarks.bench.scale import THREADS

Name = TypeVar("Name", bound=Hashable)

CONTEXT = multiprocessing.get_context("spawn")
VARIABLES = (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)
# These make numba write code for a processor with AVX2 alone, on any machine. Its name
# by itself would leave the features of the machine.
AVX2 = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+64bit,+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c"
    ",+fma,+fxsr,+lzcnt,+mmx,+movbe,+pclmul,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1"
    ",+sse4.2,+ssse3,+xsave,+xsaveopt",
}
# Lets threads that spin after their work fall asleep before the next one's turn.
PAUSE_S = 0.05


def pin_threads() -> None:
    """Set the number of threads of every process started from here on."""
    os.environ.update(dict.fromkeys(VARIABLES, str(THREADS)))


def make_worker(
    initializer: Callable[..., None] | None = None,
    arguments: tuple[Any, ...] = (),
    variables: Mapping[str, str] = MappingProxyType({}),
) -> ProcessPoolExecutor:
    """Start one process, which keeps what `initializer` made.

    `variables` are those of its environment besides ours.
    """
    worker = ProcessPoolExecutor(
        1, mp_context=CONTEXT, initializer=initializer, initargs=arguments
    )
    with patch.dict(os.environ, variables):
        worker.submit(os.getpid)
    return worker


def in_child(
    call: Callable[..., Any],
    *arguments: Any,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Any:
    """Return the call's result, from a new process that ends with it."""
    with make_worker(variables=variables) as worker:
        return worker.submit(call, *arguments).result()


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def sum_up(taken: list[float], unit: str = "_s", digits: int = 6) -> dict[str, float]:
    return {
        f"median{unit}": round(float(np.median(taken)), digits),
        f"min{unit}": round(min(taken), digits),
        f"max{unit}": round(max(taken), digits),
        "runs": len(taken),
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
