"""A waterfall: one order of vendors for all cases, and a threshold, both tuned.

Orders are compared by what they come to on held-out training rows, each at its best
threshold: a beam, then swaps, moves, removals and insertions until none is better. What
reads the answers while orders are searched is the mean of a quick LightGBM and a
logistic regression; the order that is kept gets readings at their best settings.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.table.dataset import Dataset
from benchmarks.buying.market import Market
from benchmarks.buying.readings import (
    Reading,
    fit_reading,
    list_logistics,
    list_trees,
    predict_held_out,
    read_prior,
)
from benchmarks.buying.walks import choose_threshold, walk_order

QUICK_TREES, QUICK_STRENGTH = ((4, 0.1, 60, 20),), (0.3,)
N_BEAM, N_QUICK_THRESHOLDS = 4, 60
Order = tuple[int, ...]


class OrderSearch:
    """Held-out sums of spend and errors of orders; readings are fitted once a set."""

    def __init__(
        self,
        market: Market,
        training: Dataset,
        error_price: float,
        chances: dict[frozenset[int], FloatArray],
    ) -> None:
        self.market, self.training, self.error_price = market, training, error_price
        #: held-out chances by set of vendors, those that were fitted before too
        self.chances = chances
        self.sums: dict[Order, float] = {}

    def find_best(self) -> Order:
        """Return the best order that a beam and steps from its best come to."""
        n_vendors, beam = self.market.prices.size, [Order()]
        self.weigh(Order())
        for _ in range(n_vendors):
            longer = {
                (*order, vendor)
                for order in beam
                for vendor in set(range(n_vendors)).difference(order)
            }
            beam = sorted(sorted(longer), key=self.weigh)[:N_BEAM]
        best = min(sorted(self.sums), key=self.weigh)
        while True:
            near = min(sorted(list_near(best, n_vendors)), key=self.weigh)
            if self.weigh(near) >= self.weigh(best):
                return best
            best = near

    def weigh(self, order: Order) -> float:
        """Return the held-out sum of an order."""
        if order not in self.sums:
            chances = [self.read(order[:count]) for count in range(len(order) + 1)]
            walk = walk_order(chances, self.market.prices[list(order)])
            self.sums[order] = choose_threshold(
                walk, self.training.targets, self.error_price, N_QUICK_THRESHOLDS
            )[1]
        return self.sums[order]

    def read(self, vendors: Order) -> FloatArray:
        """Return held-out chances by what some vendors answer."""
        key = frozenset(vendors)
        if not key:
            return np.tile(self.training.priors, (self.training.n_samples, 1))
        if key not in self.chances:
            training, idxs = self.training, self.market.list_features(sorted(key))
            fits = list_trees(training, idxs, QUICK_TREES)
            fits += list_logistics(training, idxs, QUICK_STRENGTH)
            columns, targets = training.values[:, idxs], training.targets
            parts = [predict_held_out(fit, columns, targets) for fit in fits]
            self.chances[key] = np.mean(parts, axis=0)
        return self.chances[key]


def list_near(order: Order, n_vendors: int) -> Iterator[Order]:
    """Yield orders one step away: swaps, moves, removals, insertions."""
    for one, other in combinations(range(len(order)), 2):
        swapped = list(order)
        swapped[one], swapped[other] = order[other], order[one]
        yield tuple(swapped)
    for place, vendor in enumerate(order):
        rest = order[:place] + order[place + 1 :]
        yield rest
        for to in range(len(order)):
            yield (*rest[:to], vendor, *rest[to:])
    for vendor in set(range(n_vendors)).difference(order):
        for to in range(len(order) + 1):
            yield (*order[:to], vendor, *order[to:])


def read_order(
    market: Market,
    training: Dataset,
    testing: Dataset,
    order: Order,
    readings: dict[frozenset[int], Reading],
) -> list[Reading]:
    """Read each beginning of an order at the best settings; new ones are added."""
    readings[frozenset()] = read_prior(training, testing)
    starts = [frozenset(order[:count]) for count in range(len(order) + 1)]
    for vendors in starts:
        if vendors not in readings:
            idxs = market.list_features(sorted(vendors))
            families = [list_trees(training, idxs), list_logistics(training, idxs)]
            readings[vendors] = fit_reading(training, testing, idxs, families)
    return [readings[vendors] for vendors in starts]
