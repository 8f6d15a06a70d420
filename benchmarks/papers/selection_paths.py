"""The path of FS2Boost, longer than it takes it, and its subset for every T."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from askless.core.selection import boosting, search
from askless.core.selection.params import N_NEIGHBOURS, SelectionParams
from askless.core.selection.search import SelectionStep
from askless.core.selection.subset import extend_subset, make_subset
from askless.core.selection.table import TIE, SelectionTable, make_selection_table
from askless.core.table.dataset import Dataset


@dataclass(frozen=True)
class Variant:
    """FS2Boost with another k, another test, or Z_0 infinite as in the paper.

    `least_fall`: the share by which Z has to fall; None is our test. With Z_0
    infinite the first feature is always taken.
    """

    least_fall: float | None = None
    n_neighbours: int = N_NEIGHBOURS
    is_infinite: bool = False

    @property
    def title(self) -> str:
        """The key that it is stored under."""
        fall = "bound" if self.least_fall is None else f"fall {self.least_fall:g}"
        start = ", infinite" if self.is_infinite else ""
        return f"{fall}, k {self.n_neighbours}{start}"

    def takes(self, step: SelectionStep) -> bool:
        if self.is_infinite and step.number == 1:
            return True
        if self.least_fall is None:
            return step.is_taken
        return step.gain > max(-math.log1p(-self.least_fall), TIE)


def walk(table: SelectionTable, params: SelectionParams) -> list[SelectionStep]:
    """All steps until Z falls no more; the first one even if it doesn't fall there."""
    subset, value = make_subset(table), search.compute_empty_z(table)
    open_idxs = list(range(table.n_features))
    steps: list[SelectionStep] = []
    while open_idxs and (len(steps) < 2 or steps[-1].gain > TIE):
        trials = [
            search.evaluate_subset(extend_subset(subset, idx), params)
            for idx in open_idxs
        ]
        steps.append(search.choose_step(table, params, steps, value, trials))
        value, idx = steps[-1].value, steps[-1].feature_idx
        subset = extend_subset(subset, idx)
        subset.settle()
        open_idxs.remove(idx)
    return steps


def cut(steps: Sequence[SelectionStep], variant: Variant) -> list[int]:
    """The subset where a variant's test ends the path."""
    taken: list[int] = []
    for step in steps:
        if not variant.takes(step):
            break
        taken.append(int(step.feature_idx))
    return taken


def sweep(dataset: Dataset, params: SelectionParams) -> dict[int, list[int]]:
    """The subset for every T from 1 to `params.rounds`.

    Round t of boosting does not depend on T, so one run on a subset gives its Z for
    every T; runs that agree so far are continued together.
    """
    table = make_selection_table(dataset)
    fits: dict[frozenset[int], boosting.Fit] = {}
    found: dict[int, list[int]] = {}
    empty = make_subset(table)
    z = search.compute_empty_z(table)
    queue = [(empty, dict.fromkeys(range(1, params.rounds + 1), z))]
    while queue:
        subset, before = queue.pop()
        open_idxs = sorted(set(range(table.n_features)) - set(subset.feature_idxs))
        for idx in open_idxs:
            key = frozenset((*subset.feature_idxs, idx))
            if key not in fits:
                candidate = extend_subset(subset, idx)
                fits[key] = boosting.boost_subset(candidate, params)
        going: dict[int, dict[int, float]] = {}
        for rounds, value in before.items():
            trials = []
            for idx in open_idxs:
                fit = fits[frozenset((*subset.feature_idxs, idx))]
                z = float(fit.zs[rounds - 1])
                trials.append(search.FeatureScore(idx, z, fit.concentration, 0))
            step = trials and search.choose_step(table, params, [], value, trials)
            if step and step.is_taken:
                going.setdefault(step.feature_idx, {})[rounds] = step.value
            else:
                found[rounds] = sorted(subset.feature_idxs)
        for idx, after in going.items():
            queue.append((extend_subset(subset, idx), after))
    return found


def find_stable(subsets: dict[int, list[int]]) -> dict[str, Any]:
    """The least T from which on the subset stays the same (the paper's T_Z)."""
    last = rounds = max(subsets)
    while rounds > 1 and subsets[rounds - 1] == subsets[last]:
        rounds -= 1
    return {"rounds": rounds, "features": subsets[last]}
