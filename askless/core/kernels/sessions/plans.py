"""The plan: the longest prefix of an ensemble that what remains can pay."""

import numpy as np

from askless.core.kernels.jit import kernel
from askless.core.kernels.sessions.paths import (
    ABOVE,
    BELOW,
    FEATURE,
    OPEN,
    PENDING,
    Case,
    Trail,
    follow,
)
from askless.core.kernels.sessions.prices import NO_GROUP, price_now, price_to_vote


@kernel
def reserve_path(h, node, case, paths, prices, out_trail):
    """Reserve every open feature that a path may still read, and return their price.

    Each feature counts once, and a fee with the first of its group. Reserved features
    become pending, and their groups paid, in `case`. Paths of a product meet again, so
    each node is visited once.
    """
    values, status, is_group_paid = case
    _, nodes, cuts, _, _ = paths
    costs, group_idxs, fees, _, _ = prices
    stack, seen_for = out_trail
    total = 0
    stack[0] = node
    n_stacked = 1
    while n_stacked > 0:
        n_stacked -= 1
        node = follow(values, status, stack[n_stacked], nodes, cuts)
        if node < 0 or seen_for[node] == h:
            continue
        seen_for[node] = h
        f = nodes[node, FEATURE]
        if status[f] == OPEN:
            total += price_now(f, costs, group_idxs, fees, is_group_paid)
            status[f] = PENDING
            if group_idxs[f] != NO_GROUP:
                is_group_paid[group_idxs[f]] = True
        for child in (nodes[node, ABOVE], nodes[node, BELOW]):
            if child >= 0:
                stack[n_stacked] = child
                n_stacked += 1
    return total


@kernel
def compute_plan_length(case, ends, paths, prices, remaining):
    """Find the longest prefix that the remaining budget pays, whatever the answers.

    ends: (n_hypotheses,), as from `follow`. For a tree, every open feature that its
    path may still lead to is reserved. Returns the length of the prefix and the first
    open feature that its paths (or that of the tree after it) need now (-1: none).

    Example: stumps on a, b, a and c at costs 3, 4 and 5; 8 remain.
        a: 3, 5 are left  |  b: 4, 1 is left  |  a: reserved, nothing to pay
        c: 5 > 1, the plan ends: length 3, the first open feature is a
    A tree on b, with d (2) above its cut and e (9) below, in the place of b: its next
    step fits, 4 of 5, but all of it, 15, doesn't. The plan ends before it (length 1);
    with a known the tree's b is asked all the same.
    """
    first = -1
    status, nodes = case.status, paths.nodes
    left = status.copy()
    reserved = Case(case.values, left, case.is_group_paid.copy())
    n_nodes = nodes.shape[0]
    trail = Trail(np.empty(n_nodes + 1, np.int64), np.full(n_nodes, -1))
    for h in range(ends.shape[0]):
        node = ends[h]
        if node < 0:
            continue
        f = nodes[node, FEATURE]
        if first < 0 and status[f] == OPEN:
            if price_to_vote(node, reserved, paths, prices) > remaining:
                return h, first
            first = f
        if nodes[node, ABOVE] < 0 and nodes[node, BELOW] < 0 and left[f] != OPEN:
            # Its one feature is reserved already.
            continue
        total = reserve_path(h, node, reserved, paths, prices, trail)
        if total > remaining:
            return h, first
        remaining -= total
    return ends.shape[0], first
