"""The most memory that binning and boosting take beside the table they read."""

import ctypes
import gc
from pathlib import Path
from typing import Any

from askless.core.warm import warm_up
from benchmarks.bench.parties import Seat
from benchmarks.bench.runs import in_child, sum_up
from benchmarks.bench.scale import Scale, Shape
from benchmarks.made import make_table

WARM_ROWS = 20_000


def measure_memory(scale: Scale) -> dict[str, Any]:
    shape, taken = scale.memory, []
    for number in range(scale.long_runs):
        taken.append(in_child(peak_bytes, shape))
        print(f"memory: run {number + 1} of {scale.long_runs}", flush=True)
    per_cell = [one / (shape.rows * shape.features) for one in taken]
    return {
        **shape._asdict(),
        "peak_bytes": max(taken),
        "bytes_per_cell": sum_up(per_cell, "", 3),
    }


def peak_bytes(shape: Shape) -> int:
    """Resident bytes at the peak less those before, with the table and warm kernels."""
    warm_up()
    train(make_table(min(WARM_ROWS, shape.rows), shape.features), 1)
    table = make_table(shape.rows, shape.features)
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    before = read_status("VmRSS")
    forget_peak()
    train(table, shape.rounds)
    return read_status("VmHWM") - before


def train(table: Any, rounds: int) -> None:
    seat = Seat("askless", table, rounds)
    seat.bin("float64")
    seat.boost("stumps")


def forget_peak() -> None:
    """Start the peak anew; where the system refuses, the older one can only add."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError as error:
        print(f"the peak of resident memory is not reset: {error}", flush=True)


def read_status(name: str) -> int:
    """A line of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    values = dict(line.split(":", 1) for line in lines)
    return int(values[name].split()[0]) * 1024
