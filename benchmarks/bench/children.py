"""Processes of their own, all with the same number of threads."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from benchmarks.bench.scale import THREADS

CONTEXT = multiprocessing.get_context("spawn")
VARIABLES = (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


def pin_threads() -> None:
    """Set the number of threads of every process started from here on."""
    os.environ.update(dict.fromkeys(VARIABLES, str(THREADS)))


def make_worker(
    initializer: Callable[..., None], arguments: tuple[Any, ...]
) -> ProcessPoolExecutor:
    """One process that keeps what `initializer` made."""
    return ProcessPoolExecutor(
        1, mp_context=CONTEXT, initializer=initializer, initargs=arguments
    )


def in_child(call: Callable[..., Any], *arguments: Any) -> Any:
    """The call's result, from a new process that ends with it."""
    with ProcessPoolExecutor(1, mp_context=CONTEXT) as worker:
        return worker.submit(call, *arguments).result()
