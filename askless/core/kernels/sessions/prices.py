"""Prices that a case must pay before a path comes to its next vote."""

from typing import Any, NamedTuple

import numpy as np

from askless.core.kernels.jit import kernel
from askless.core.kernels.sessions.paths import FEATURE, NEXT_FACTOR, OPEN, follow

NO_GROUP = -1


class Prices(NamedTuple):
    """The catalogue's amounts, in micro-units."""

    #: int64 (n_features,)
    costs: Any
    #: int64 (n_features,); `NO_GROUP` where a feature has none
    group_idxs: Any
    #: int64 (n_groups,); of a bundle its price
    fees: Any
    #: bool (n_groups,)
    is_bundle: Any
    #: bool (n_features,); whether an empty answer costs the price, too
    is_per_call: Any


@kernel
def price_now(feature_idx, costs, group_idxs, fees, is_group_paid):
    """Return the price of a feature that was not charged before."""
    group = group_idxs[feature_idx]
    if group == NO_GROUP or is_group_paid[group]:
        return costs[feature_idx]
    return costs[feature_idx] + fees[group]


@kernel
def price_product(node, case, paths, prices):
    """Return the price of the open factors of a product, from a node on.

    Each feature counts once, and so does a fee. Example: factors on f0, f1 and f0
    again, both features in a group with an unpaid fee of 20, costs 3 and 7.
        f0: 3 + 20, the fee is due;  f1: 7, f0 pays the fee;  f0 again: 0
    Sum: 30. With the fee paid it is 10, and with f0 known 27.
    """
    costs, group_idxs, fees, _, _ = prices
    total = 0
    last = node
    while last >= 0:
        f = paths.nodes[last, FEATURE]
        price = price_now(f, costs, group_idxs, fees, case.is_group_paid)
        # What factors before this one pay is paid.
        before = node
        while before != last:
            other = paths.nodes[before, FEATURE]
            if other == f:
                price = 0
            elif case.status[other] == OPEN and group_idxs[other] == group_idxs[f]:
                price = min(price, costs[f])
            before = paths.nodes[before, NEXT_FACTOR]
        total += price if case.status[f] == OPEN else 0
        last = paths.nodes[last, NEXT_FACTOR]
    return total


@kernel
def price_to_vote(node, case, paths, prices):
    """Return the price of the open features that a path needs before its next vote.

    A stump or a tree needs one, the feature of its node. A product needs all its open
    factors.
    """
    if paths.nodes[node, NEXT_FACTOR] >= 0:
        return price_product(node, case, paths, prices)
    f = paths.nodes[node, FEATURE]
    if case.status[f] != OPEN:
        return 0
    costs, group_idxs, fees, _, _ = prices
    return price_now(f, costs, group_idxs, fees, case.is_group_paid)


@kernel
def survey_paths(case, paths, prices, out_ends, out_dues, out_waiting_for):
    """Follow every path; write the price of its next vote and the feature it needs.

    All outputs: int64 (n_hypotheses,), see `follow` and `price_to_vote`; -1 where a
    path waits for no feature.
    """
    values, status, is_group_paid = case
    roots, nodes, cuts, _, _ = paths
    costs, group_idxs, fees, _, _ = prices
    # Each feature is priced once: a call for each hypothesis takes longer than a path.
    now = np.empty(costs.shape[0], np.int64)
    for f in range(costs.shape[0]):
        now[f] = price_now(f, costs, group_idxs, fees, is_group_paid)
    has_product = False
    for h in range(roots.shape[0]):
        node = follow(values, status, roots[h], nodes, cuts)
        out_ends[h] = node
        out_dues[h] = 0
        out_waiting_for[h] = -1
        if node >= 0:
            f = nodes[node, FEATURE]
            has_product |= nodes[node, NEXT_FACTOR] >= 0
            if status[f] == OPEN:
                out_dues[h] = now[f]
                out_waiting_for[h] = f
    if has_product:
        for h in range(roots.shape[0]):
            if out_ends[h] >= 0:
                out_dues[h] = price_to_vote(out_ends[h], case, paths, prices)
