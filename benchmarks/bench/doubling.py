"""How the time of a training grows with rows, features and rounds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.bench.children import in_child
from benchmarks.bench.clock import spread, take_turns, timed
from benchmarks.bench.parties import Askless
from benchmarks.bench.scale import Scale, Shape
from benchmarks.bench.tables import make_table

FACTORS = (0.5, 1.0, 2.0)
SIZES = ("rows", "features", "rounds")


def measure_doubling(scale: Scale) -> dict[str, Any]:
    result: dict[str, Any] = in_child(run_doubling, scale.training, scale.runs)
    return result


def run_doubling(base: Shape, n_runs: int) -> dict[str, Any]:
    shapes = {base.doubled(size, factor) for size in SIZES for factor in FACTORS}
    ordered = sorted(shapes, key=lambda one: (one.rows, one.features, one.rounds))
    tables = {
        key: make_table(*key)
        for key in sorted({(one.rows, one.features) for one in ordered})
    }
    kept: dict[Shape, Any] = {}

    def bin_one(shape: Shape, party: Askless) -> float:
        kept.pop(shape, None)
        seconds, kept[shape] = timed(lambda: party.bin("float64"))
        return seconds

    def boost_one(shape: Shape, party: Askless) -> float:
        seconds, n_rounds = timed(lambda: party.boost(kept[shape], "stumps"))
        assert n_rounds == shape.rounds
        return seconds

    tasks: dict[tuple[Shape, str], Callable[[], float]] = {}
    for shape in ordered:
        party = Askless(tables[shape.rows, shape.features], shape.rounds)
        tasks[shape, "binning"] = partial(bin_one, shape, party)
        tasks[shape, "boosting"] = partial(boost_one, shape, party)
    seconds = take_turns(tasks, n_runs, "doubling")
    result: dict[str, Any] = {}
    for size in SIZES:
        points = [
            sum_up(base.doubled(size, factor), size, seconds) for factor in FACTORS
        ]
        result[size] = {
            "points": points,
            # Rounds are not binned: binning would only flatter.
            "ratios": [
                round(after["both"]["median_s"] / before["both"]["median_s"], 3)
                if size != "rounds"
                else round(
                    after["boosting"]["median_s"] / before["boosting"]["median_s"], 3
                )
                for before, after in pairwise(points)
            ],
        }
    return {
        "rows": base.rows,
        "features": base.features,
        "rounds": base.rounds,
        "sizes": result,
    }


def sum_up(
    shape: Shape, size: str, seconds: dict[tuple[Shape, str], list[float]]
) -> dict[str, Any]:
    parts = {part: seconds[shape, part] for part in ("binning", "boosting")}
    both = np.sum(list(parts.values()), axis=0).tolist()
    return {
        size: getattr(shape, size),
        **{part: spread(taken) for part, taken in (parts | {"both": both}).items()},
    }
