"""Cheapest first, with calibrated stopping: LightGBM on what is bought so far.

One LightGBM for each number of vendors bought, the cheapest first. A case buys on until
its most probable class passes a threshold.
"""

from typing import NamedTuple

import numpy as np

from askless.core.arrays import IntArray
from askless.core.table.dataset import Dataset
from benchmarks.buying.market import Market
from benchmarks.buying.readings import Reading, fit_reading, list_trees, read_prior
from benchmarks.buying.walks import Walk, at_spend, follow, list_thresholds, walk_order


class Stopper(NamedTuple):
    """Walks of training rows held out and of test rows, by number of vendors."""

    held_out: Walk
    testing: Walk


def fit_stopper(market: Market, training: Dataset, testing: Dataset) -> Stopper:
    """Fit each number of vendors, the cheapest first."""
    readings = [read_prior(training, testing)]
    for last in range(market.prices.size):
        feature_idxs = market.list_features(list(range(last + 1)))
        families = [list_trees(training, feature_idxs)]
        readings.append(fit_reading(training, testing, feature_idxs, families))
    return make_stopper(readings, market, list(range(market.prices.size)))


def make_stopper(readings: list[Reading], market: Market, order: list[int]) -> Stopper:
    """Walk an order of vendors, of which readings are by number bought."""
    parts = zip(*readings, strict=True)
    return Stopper(*(walk_order(part, market.prices[order]) for part in parts))


def choose_most(stopper: Stopper, targets: IntArray, spend: float) -> int:
    """Return the number of vendors at most of least held-out error at a mean spend."""
    thresholds, errors = list_thresholds(stopper.held_out.readiness), []
    for most in range(1, len(stopper.held_out.spends)):
        ends = follow(stopper.held_out.cut(most), targets, thresholds)
        can_spend = ends.spends.max() >= spend
        errors.append(at_spend(*ends, spend) if can_spend else np.inf)
    return 1 + int(np.argmin(errors))
