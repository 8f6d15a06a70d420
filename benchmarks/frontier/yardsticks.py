"""What LightGBM says beside a session's end: of what was read, of what could be read.

Nothing here knows how a session chose. Training rows choose and fit, test rows judge.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.table.dataset import Dataset
from benchmarks.frontier import rivals
from benchmarks.frontier.draws import Draw
from benchmarks.frontier.measures import find_losses
from benchmarks.frontier.rivals import QUICK, Fit, Set

Record = dict[str, object]

# Another offer helps where it lowers held-out log-loss by more than so many standard
# errors. Only those are tried of which one split gains most.
N_FOLDS, N_ERRORS, N_TRIED = 5, 2.0, 12
# It helps surely where test rows say so, too, by more than so many.
N_ERRORS_SURELY = 1.0

# Ends that are looked at for each refusal, those of most rows.
MOST_ENDS = 10


# Where forward selection buys nothing to be tuned for.
FALLBACK = partial(rivals.fit_trees, QUICK)


class End(NamedTuple):
    """What a session knows and says at its end."""

    read: Set
    #: offers without an answer that what is left would pay
    payable: tuple[Set, ...]
    label: int
    chance: float
    #: in micro-units
    spent: int
    #: whether nothing was asked any more after a refusal
    is_at_once: bool


class Yardsticks:
    """LightGBM on the rows of a draw, for any set of features; keeps what it fitted."""

    def __init__(
        self, drawn: Draw, most_rows: int, kept: dict[str, Set] | None = None
    ) -> None:
        self.drawn = drawn
        #: what forward selection bought, by place and what was refused
        self.kept = {} if kept is None else kept
        self.values = drawn.testing.values[:most_rows]
        self.targets = drawn.testing.targets[:most_rows]
        self.judge = rivals.make_judge(drawn.training)
        places = range(len(drawn.budgets))
        #: by budget, tuned for what is bought if nothing is refused
        self.fits = [
            rivals.tune_to(drawn, [self.find_forward(place, ())]) or FALLBACK
            for place in places
        ]
        self.predicted: dict[tuple[int, Set], FloatArray] = {}
        self.helped: dict[tuple[Set, tuple[Set, ...]], tuple[bool, bool]] = {}

    def measure(
        self, place: int, hidden: Set, rows: IntArray, ends: Sequence[End]
    ) -> Record:
        """Measure the sessions of rows after a refusal under a budget, and rivals."""
        budget, targets = self.drawn.budgets[place], self.targets[rows]
        forward = self.find_forward(place, hidden)
        refit = np.array(
            [
                self.predict(place, end.read)[row]
                for row, end in zip(rows, ends, strict=True)
            ]
        )
        chances = {
            "ours": np.array([end.chance for end in ends]),
            "refit": refit,
            "forward": self.predict(place, forward)[rows],
        }
        labels = {name: one > 0.5 for name, one in chances.items()}
        labels["ours"] = np.array([end.label for end in ends])
        share, share_surely = self.count_helped(ends)
        unspent = [1 - end.spent / max(budget, 1) for end in ends]
        found = {
            "unspent": float(np.mean(unspent)),
            "at_once": float(np.mean([end.is_at_once for end in ends])),
            "over": sum(end.spent > budget for end in ends),
            "helpful": share,
            "surely_helpful": share_surely,
        }
        for name, one in chances.items():
            found[f"{name}_error"] = float((labels[name] != targets).mean())
            found[f"{name}_loss"] = float(find_losses(one[:, None], targets).mean())
        rounded = {name: round(value, 6) for name, value in found.items()}
        return {"rows": rows.size, "n_sets": len({end.read for end in ends}), **rounded}

    def find_forward(self, place: int, hidden: Set) -> Set:
        """Select without the refused features: anew, where they would be bought."""
        if hidden and not set(hidden) & set(self.find_forward(place, ())):
            hidden = ()
        key = f"{place} {sorted(hidden)}"
        if key not in self.kept:
            drawn = replace(self.drawn, budgets=(self.drawn.budgets[place],))
            (self.kept[key],) = rivals.find_forward(drawn, self.judge, hidden)
        return tuple(self.kept[key])

    def predict(self, place: int, one: Set) -> FloatArray:
        """Predict test rows by what is fitted to a set; (n_rows,)."""
        key = place, tuple(sorted(one))
        if key not in self.predicted:
            (column,) = rivals.predict_sets(self.drawn, [one], self.fits[place]).T
            self.predicted[key] = column[: self.targets.size]
        return self.predicted[key]

    def count_helped(self, ends: Sequence[End]) -> tuple[float, float]:
        """Return at which share of ends something helpful is unasked, and surely."""
        counts = Counter((end.read, end.payable) for end in ends).most_common(MOST_ENDS)
        found = []
        for key, _ in counts:
            if key not in self.helped:
                self.helped[key] = find_help(self.drawn, *key)
            found.append(self.helped[key])
        weights = [count for _, count in counts]
        share, surely = np.average(np.array(found, np.float64), axis=0, weights=weights)
        return float(share), float(surely)


def find_help(drawn: Draw, read: Set, payable: tuple[Set, ...]) -> tuple[bool, bool]:
    """Return whether LightGBM on a set gains by an offer more, and surely so."""
    training, fit = drawn.training, partial(rivals.fit_trees, QUICK)
    before = find_held_out(training, fit, read)
    gains = rivals.find_gains(training, before)
    tried = sorted(payable, key=lambda one: -gains[list(one)].sum())[:N_TRIED]
    helpful = []
    for offer in tried:
        after = find_held_out(training, fit, (*read, *offer))
        if is_less(after, before, training.targets, N_ERRORS):
            helpful.append(offer)
    sets = [read, *((*read, *offer) for offer in helpful)]
    first, *others = rivals.predict_sets(drawn, sets, fit).T
    targets = drawn.testing.targets
    surely = [is_less(one, first, targets, N_ERRORS_SURELY) for one in others]
    return bool(helpful), any(surely)


def find_held_out(training: Dataset, fit: Fit, one: Set) -> FloatArray:
    """Predict each fold of the training rows by the others; (n_rows,)."""
    targets = training.targets
    if not one:
        return np.full(targets.size, targets.mean())
    return rivals.predict_held_out(fit, rivals.lay(training, one), targets, N_FOLDS)


def is_less(
    after: FloatArray, before: FloatArray, targets: IntArray, n_errors: float
) -> bool:
    """Return whether log-loss is less by more than so many standard errors."""
    losses = find_losses(np.column_stack((before, after)), targets)
    falls = losses[:, 0] - losses[:, 1]
    error = falls.std(ddof=1) / np.sqrt(targets.size)
    return bool(falls.mean() > n_errors * error)
