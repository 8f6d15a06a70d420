"""Compiled search for the next panel of each panel, and its risk threshold."""

from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.kernels.jit import kernel

# A threshold that every risk exceeds; and what counts as rounding.
ALWAYS, LEAST_LEAD = -1.0, 1e-12


class Ways(NamedTuple):
    """Ways from panels to others, and the rows that they are judged by."""

    #: (n_panels, n_panels), in micro-units; negative where there is no way
    prices: IntArray
    #: (n_panels, n_rows)
    risks: FloatArray
    #: (n_panels, n_rows), rows of greatest risk first
    orders: IntArray
    #: (n_rows,)
    weights: FloatArray


@kernel
def choose_riskiest_rows(ways, panel, costs, onward, best):
    """Return the rows of greatest risk that gain most if they go on, and that gain.

    The gain comes first, then the place of the last of these rows in the order of
    risk, -1 if no gain exceeds `best` by more than rounding, so that the first of
    several equal ways is taken. costs: (n_panels, n_rows), of stopping here; onward:
    (n_rows,), of going on. Rows of the same risk go on together.
    """
    order, risks, weights = ways.orders[panel], ways.risks[panel], ways.weights
    n_rows, last, total = order.shape[0], -1, 0.0
    for place in range(n_rows):
        row = order[place]
        total += weights[row] * (costs[panel, row] - onward[row])
        if total > best + LEAST_LEAD:
            is_last = place + 1 == n_rows
            if is_last or risks[row] != risks[order[place + 1]]:
                best, last = total, place
    return best, last


@kernel
def learn_ways(ways, rate, costs, out_targets, out_thresholds):
    """Write for each panel, in order, where it goes on to and above which risk.

    costs: (n_panels, n_rows), error costs of stopping; overwritten by those of going
    on. The outputs are (n_panels,): a panel's own position where nothing is gained.
    """
    n_panels, n_rows = costs.shape
    onward = np.empty(n_rows)
    # A way leads to an earlier panel, whose costs are final by then.
    for panel in range(n_panels):
        out_targets[panel], out_thresholds[panel] = panel, np.inf
        best, last, most = LEAST_LEAD, -1, costs[panel].max()
        for there in range(n_panels):
            price = rate * ways.prices[panel, there]
            # Where even the best row gains nothing, none does.
            if ways.prices[panel, there] < 0 or price + costs[there].min() >= most:
                continue
            for row in range(n_rows):
                onward[row] = price + costs[there, row]
            best, place = choose_riskiest_rows(ways, panel, costs, onward, best)
            if place >= 0:
                out_targets[panel], last = there, place
        if last < 0:
            continue
        order, risks = ways.orders[panel], ways.risks[panel]
        out_thresholds[panel] = ALWAYS
        if last + 1 < n_rows:
            out_thresholds[panel] = (risks[order[last]] + risks[order[last + 1]]) / 2
        target = out_targets[panel]
        price = rate * ways.prices[panel, target]
        for row in range(n_rows):
            if risks[row] > out_thresholds[panel]:
                costs[panel, row] = price + costs[target, row]
