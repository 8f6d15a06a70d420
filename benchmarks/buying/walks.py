"""What cases come to as they buy one vendor after the other, and where they stop.

A case stops as soon as its readiness passes a threshold. A vendor that is asked costs
its price, whether it answers or not.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray, IntArray

N_THRESHOLDS = 200


class Walk(NamedTuple):
    """Cases by number of vendors bought; (n_steps + 1, n_rows) each."""

    spends: FloatArray
    labels: IntArray
    readiness: FloatArray

    def cut(self, most: int) -> "Walk":
        """Return the walk with so many vendors at most."""
        return Walk(*(part[: most + 1] for part in self))


class Ends(NamedTuple):
    """Mean spend and error by threshold."""

    spends: FloatArray
    errors: FloatArray


def walk_order(chances: Sequence[FloatArray], prices: FloatArray) -> Walk:
    """Buy vendors in one order; ready is who is confident.

    chances: of each class, by number of vendors bought. prices: in the order of buying.
    """
    paid = np.concatenate(([0.0], np.cumsum(prices)))
    stacked = np.array(chances)
    spends = np.repeat(paid[:, None], stacked.shape[1], axis=1)
    return Walk(spends, stacked.argmax(axis=2), stacked.max(axis=2))


def list_thresholds(readiness: FloatArray, count: int = N_THRESHOLDS) -> FloatArray:
    """Return quantiles of the readiness of held-out rows, and one above them."""
    levels = np.quantile(readiness, np.linspace(0.0, 1.0, count))
    return np.append(levels, levels[-1] + 0.01)


def follow(walk: Walk, targets: IntArray, thresholds: FloatArray) -> Ends:
    """Return what cases come to by threshold; at the last step all stop."""
    rows = np.arange(targets.size)
    spends, errors = np.empty((2, thresholds.size))
    for place, threshold in enumerate(thresholds):
        passes = walk.readiness >= threshold
        passes[-1] = True
        n_bought = passes.argmax(axis=0)
        spends[place] = walk.spends[n_bought, rows].mean()
        errors[place] = (walk.labels[n_bought, rows] != targets).mean()
    return Ends(spends, errors)


def choose_threshold(
    walk: Walk, targets: IntArray, error_price: float, count: int = N_THRESHOLDS
) -> tuple[float, float]:
    """Return the threshold of least mean spend and price of errors, and that sum."""
    thresholds = list_thresholds(walk.readiness, count)
    ends = follow(walk, targets, thresholds)
    sums = ends.spends + error_price * ends.errors
    best = int(np.argmin(sums))
    return float(thresholds[best]), float(sums[best])


def at_spend(spends: FloatArray, errors: FloatArray, spend: float) -> float:
    """Return the error at a mean spend, interpolated between its neighbours."""
    order = np.argsort(spends, kind="stable")
    return float(np.interp(spend, np.take(spends, order), np.take(errors, order)))
