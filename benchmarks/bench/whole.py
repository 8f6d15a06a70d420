"""How long a whole fit takes: from an array of float64 to a model, beside LightGBM.

Ours is the estimator's `fit`, with all that it checks and reports; LightGBM's is the
making of its `Dataset` and `train`. What it is given in another type is converted
within its time.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, ClassVar

import numpy as np

from askless.core.estimator.classifier import BudgetedBoostingClassifier
from benchmarks.bench.parties import LightGBM
from benchmarks.bench.runs import make_worker, sum_up, take_turns, timed
from benchmarks.bench.scale import BINS, Scale, Shape
from benchmarks.made import make_table

# How many of LightGBM's modes, the fastest of a trial, take turns with ours.
N_MODES = 2
OURS = ()
CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    "float64": np.asarray,
    "float32": partial(np.asarray, dtype=np.float32),
    "float32 by columns": partial(np.asfortranarray, dtype=np.float32),
}
LAYOUTS = (*CONVERSIONS, "float64 unbundled", "float32 unbundled")


class Fits:
    """Whole fits of one table, ours and theirs; each returns how many rounds it has."""

    #: The only one of this process.
    here: ClassVar["Fits"]

    def __init__(self, shape: Shape) -> None:
        self.table = make_table(shape.rows, shape.features)
        self.rounds = shape.rounds
        self.peer = LightGBM(self.table, self.rounds)

    def fit_ours(self) -> int:
        model = BudgetedBoostingClassifier(
            "adaboost", rounds=self.rounds, folds=0, random_state=0
        )
        model.fit(self.table.values, self.table.targets)
        return len(model.ensemble_.hypotheses)

    def fit_theirs(self, layout: str, mode: str) -> int:
        kind = layout.removesuffix(" unbundled")
        self.peer.inputs = {kind: CONVERSIONS[kind](self.table.values)}
        return self.peer.boost(self.peer.bin(layout), mode)


def sit_down(shape: Shape) -> None:
    Fits.here = Fits(shape)


def fit_once(way: tuple[str, ...]) -> float:
    fits = Fits.here
    call = fits.fit_ours if way == OURS else partial(fits.fit_theirs, *way)
    seconds, n_rounds = timed(call)
    assert n_rounds == fits.rounds, f"{n_rounds} rounds instead of {fits.rounds}"
    return seconds


def measure_whole(scale: Scale) -> dict[str, Any]:
    shape = scale.training._replace(rounds=2 * scale.training.rounds)
    with ExitStack() as stack:
        ours, theirs = (
            stack.enter_context(make_worker(sit_down, (shape,))) for _ in range(2)
        )

        def fit_theirs(layout: str, mode: str) -> float:
            return theirs.submit(fit_once, (layout, mode)).result()

        by_layout = {
            layout: fit_theirs(layout, LightGBM.modes[0]) for layout in LAYOUTS
        }
        layout = min(by_layout, key=by_layout.__getitem__)
        by_mode = {mode: fit_theirs(layout, mode) for mode in LightGBM.modes}
        modes = sorted(by_mode, key=by_mode.__getitem__)[:N_MODES]
        tasks = {"Askless": lambda: ours.submit(fit_once, OURS).result()}
        for mode in modes:
            tasks[f"LightGBM, {layout}, {mode}"] = partial(fit_theirs, layout, mode)
        seconds = take_turns(tasks, scale.runs, "whole fits")
    times = {way: sum_up(taken) for way, taken in seconds.items()}
    return {**shape._asdict(), "bins": BINS, "seconds": times}
