"""How the time of a training grows with rows, features and rounds."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.bench.parties import Seat
from benchmarks.bench.runs import sum_up, take_turns
from benchmarks.bench.scale import Scale, Shape
from benchmarks.made import make_table

FACTORS = (0.5, 1.0, 2.0)
# What doubles, and what is timed: rounds are not binned, binning would only flatter.
SIZES = {"rows": "both", "features": "both", "rounds": "boosting"}


def resize(base: Shape, size: str) -> list[Shape]:
    """Half of a shape, the shape, and twice as much, by one of its sizes."""
    sizes = (int(getattr(base, size) * factor) for factor in FACTORS)
    return [base._replace(**{size: n_rows}) for n_rows in sizes]


def measure_doubling(scale: Scale) -> dict[str, Any]:
    base = scale.training
    shapes = sorted({shape for size in SIZES for shape in resize(base, size)})
    tables = {key: make_table(*key) for key in sorted({shape[:2] for shape in shapes})}
    tasks: dict[tuple[Shape, str], Callable[[], float]] = {}
    for shape in shapes:
        seat = Seat("askless", tables[shape[:2]], shape.rounds)
        tasks[shape, "binning"] = partial(seat.bin, "float64")
        tasks[shape, "boosting"] = partial(seat.boost, "stumps")
    seconds = take_turns(tasks, scale.runs, "doubling")
    result: dict[str, Any] = {}
    for size, part in SIZES.items():
        points = []
        for shape in resize(base, size):
            taken = {one: seconds[shape, one] for one in ("binning", "boosting")}
            taken["both"] = np.sum(list(taken.values()), axis=0).tolist()
            times = {name: sum_up(one) for name, one in taken.items()}
            points.append({size: getattr(shape, size), **times})
        medians = [point[part]["median_s"] for point in points]
        ratios = [round(after / before, 3) for before, after in pairwise(medians)]
        result[size] = {"points": points, "ratios": ratios}
    return {**base._asdict(), "sizes": result}
