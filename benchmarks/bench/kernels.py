"""Milliseconds a round of each kernel of boosting, beside what its stores alone take.

The bound is that of stores at places that the data tells, all of them in the nearest
cache: a calibrated loop of such stores, on as many threads as the kernels have.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from askless.core import kernels
from askless.core.arrays import CodeArray, IntArray
from askless.core.codes.binning import bin_values
from askless.core.training.params import BoostParams
from benchmarks.bench.runs import AVX2, in_child, timed
from benchmarks.bench.scale import THREADS, Scale, Shape
from benchmarks.engine import boost_rounds
from benchmarks.made import make_table

N_STORES = 2**20
N_TRIES = 30
NAMES = {
    "weights": ("move_weights", "move_weights_parallel"),
    "sums by code": ("add_moved_rows", "add_moved_rows_parallel"),
    "scan": ("scan", "scan_parallel"),
}


@njit(nogil=True, error_model="numpy")
def store(codes: CodeArray, out: IntArray) -> None:
    """Store a number at the place of each code."""
    for idx in range(codes.shape[0]):
        out[np.uint64(codes[idx])] = idx


def time_store() -> float:
    """Nanoseconds of one store, by the quickest of many tries."""
    codes = np.random.default_rng(0).integers(0, 256, N_STORES).astype(np.uint8)
    room = np.zeros(256, dtype=np.int64)
    store(codes, room)
    tries = (timed(lambda: store(codes, room))[0] for _ in range(N_TRIES))
    return min(tries) / N_STORES * 1e9


class Watch:
    """Adds up the seconds of kernels, and the rows that they add to lanes."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.rows = 0
        self.lanes = 0

    def watch(self, label: str, call: Callable[..., None]) -> Callable[..., None]:
        def watched(*arguments: Any) -> None:
            start = time.perf_counter()
            call(*arguments)
            self.seconds[label] += time.perf_counter() - start
            if label == "sums by code":
                _, lanes, moved, _ = arguments
                ends = moved.stops.sum(axis=(0, 1))
                self.rows += int(ends[0] + moved.rows.size - ends[1])
                self.lanes = lanes.size

        return watched


def watch_rounds(shape: Shape, is_binary: bool) -> dict[str, Any]:
    """Seconds of each kernel in one training, and what it adds; in a process alone."""
    table = make_table(shape.rows, shape.features, is_binary=is_binary)
    binned = bin_values(table)
    params = BoostParams("adaboost", rounds=shape.rounds)
    list(boost_rounds(table, params, binned))
    watch = Watch()
    for label, names in NAMES.items():
        for name in names:
            setattr(kernels, name, watch.watch(label, getattr(kernels, name)))
    list(boost_rounds(table, params, binned))
    return {
        "seconds": dict(watch.seconds),
        "rows": watch.rows,
        "lanes": watch.lanes,
        "store_ns": time_store(),
    }


def measure_kernels(scale: Scale) -> dict[str, Any]:
    shape = scale.training
    store_ns, kinds = [], {}
    for kind in ("numeric", "binary"):
        native, avx2 = (
            [
                in_child(watch_rounds, shape, kind == "binary", variables=variables)
                for _ in range(scale.long_runs)
            ]
            for variables in ({}, AVX2)
        )
        store_ns.append(min(run["store_ns"] for run in native))
        kinds[kind] = {
            label: {
                **count_work(label, native[0], shape),
                "bound_ms": 0.0,
                "native_ms": least_ms(native, label, shape),
                "avx2_ms": least_ms(avx2, label, shape),
            }
            for label in NAMES
        }
    quickest = min(store_ns)
    for figures in kinds.values():
        for taken in figures.values():
            taken["bound_ms"] = taken["adds"] * quickest / THREADS / 1e6
    return {**shape._asdict(), "store_ns": quickest, "kinds": kinds}


def least_ms(runs: list[dict[str, Any]], label: str, shape: Shape) -> float:
    return min(run["seconds"][label] for run in runs) / shape.rounds * 1e3


def count_work(label: str, run: dict[str, Any], shape: Shape) -> dict[str, float]:
    """Cells looked at, stores ("adds") and bytes read and written, in a round.

    A row that moves is a line of 12 bytes in a list, a sum and a weight 8, a vote and a
    code one.
    """
    moved = run["rows"] / shape.rounds
    if label == "weights":
        adds = shape.rows + 2 * moved
        return {"cells": 0, "adds": adds, "bytes": shape.rows * 17 + 12 * moved}
    if label == "scan":
        sums = run["lanes"] * 256
        return {"cells": 0, "adds": sums, "bytes": sums * 16}
    adds = moved * run["lanes"]
    cells = moved * shape.features
    return {"cells": cells, "adds": adds, "bytes": adds * 17 + moved * 12}
