"""Bounds on a vote over all answers that can still come."""

from typing import Any, NamedTuple

import numpy as np

from askless.core.kernels.jit import kernel
from askless.core.kernels.sessions.paths import (
    ABOVE,
    BELOW,
    FEATURE,
    NEXT_FACTOR,
    PENDING,
    Trail,
    follow,
    follow_node,
    vote_at,
)


class Reach(NamedTuple):
    """How far a session has come, and what it may still obtain."""

    #: int64 (n_hypotheses,); as from `follow`
    ends: Any
    #: bool (n_hypotheses,); whether what remains pays the next vote
    is_payable: Any
    #: bool (n_features,); whether what remains pays a feature alone
    is_affordable: Any
    #: bool (n_features,); whether an answer may come although nothing asks for it
    is_coming: Any


class Segments(NamedTuple):
    """One value from each segment between the cuts of a feature's stumps."""

    #: int64 (n_features + 1,); where each feature's part of `cuts` starts
    starts: Any
    #: float64 (n_segments,)
    cuts: Any


@kernel
def bound_path(h, case, paths, scores, out_reach, out_trail):
    """Return the least and the greatest score that one path may still end in.

    Features that the path may ask for are marked in out_reach.is_coming.
    """
    values, status, _ = case
    _, nodes, cuts, _, _ = paths
    stack, seen_for = out_trail
    low = np.inf
    high = -np.inf
    stack[0] = out_reach.ends[h]
    n_stacked = 1
    while n_stacked > 0:
        n_stacked -= 1
        node = follow(values, status, stack[n_stacked], nodes, cuts)
        vote = vote_at(node, nodes)
        low = min(low, scores[vote])
        high = max(high, scores[vote])
        if node >= 0 and seen_for[node] != h:
            seen_for[node] = h
            f = nodes[node, FEATURE]
            if status[f] == PENDING or out_reach.is_affordable[f]:
                out_reach.is_coming[f] = True
                stack[n_stacked] = nodes[node, ABOVE]
                stack[n_stacked + 1] = nodes[node, BELOW]
                n_stacked += 2
    return low, high


@kernel
def is_silent(node, nodes, may_come):
    """Return whether no feature that a path waits for, factors included, can come."""
    is_unavailable = True
    while node >= 0:
        is_unavailable = is_unavailable and not may_come[nodes[node, FEATURE]]
        node = nodes[node, NEXT_FACTOR]
    return is_unavailable


@kernel
def bound_each(case, paths, reach, segments, scores, is_plan):
    """Return how far each hypothesis moves the bounds, and how many of them count.

    Returns float64 (n_hypotheses,) twice, for the least and the greatest score. The
    first stump on a feature brings its own bounds, later ones what they change.
    """
    roots, nodes, cuts, _, _ = paths
    starts, segment_cuts = segments
    sums = np.zeros(segment_cuts.shape[0])
    lows, highs = np.zeros(starts.shape[0]), np.zeros(starts.shape[0])
    low_moves, high_moves = np.zeros(roots.shape[0]), np.zeros(roots.shape[0])
    may_come = reach.is_coming.copy()
    n_nodes = nodes.shape[0]
    trail = Trail(np.empty(n_nodes + 1, np.int64), np.full(n_nodes, -1))
    reach = Reach(reach.ends, reach.is_payable, reach.is_affordable, may_come)
    for h in range(roots.shape[0]):
        node = reach.ends[h]
        low_moves[h] = high_moves[h] = scores[vote_at(node, nodes)]
        if node >= 0 and not reach.is_payable[h]:
            if is_plan and is_silent(node, nodes, may_come):
                return low_moves, high_moves, h + 1
        elif node == roots[h] and max(nodes[node, ABOVE], nodes[node, BELOW]) < 0:
            f = nodes[node, FEATURE]
            low, high = 0.0, 0.0
            for segment in range(starts[f], starts[f + 1]):
                sums[segment] += scores[
                    ~follow_node(segment_cuts[segment], node, nodes, cuts)
                ]
                low = min(low, sums[segment])
                high = max(high, sums[segment])
            low_moves[h], high_moves[h] = low - lows[f], high - highs[f]
            lows[f], highs[f] = low, high
            may_come[f] = True
        elif node >= 0:
            moves = bound_path(h, case, paths, scores, reach, trail)
            low_moves[h], high_moves[h] = moves
    return low_moves, high_moves, roots.shape[0]


@kernel
def bound_votes(case, paths, reach, segments, scores, start):
    """Return the least and the greatest score that answers still to come can lead to.

    `scores` (n_votes,) is what each vote counts for. Stumps that wait for one feature
    contribute the least and the greatest of their summed scores over all segments
    between their cuts, and 0 for a missing value; a tree or a product the least and
    greatest of the votes that its path may still end in, each on its own. With a plan
    of `start` hypotheses every length from there to the first hypothesis that isn't
    payable counts, since a missing value extends the plan (and also past a product
    that it silences). `start` -1: no plan, all that are payable count.

    Example: a stump has voted 1; two wait for x, cut at 1 with score 2 above it, and
    at 5 with score -3 above it.
        x up to 1: -2 + 3 = 1  |  up to 5: 2 + 3 = 5  |  above: 2 - 3 = -1
        missing: 0, so x adds -1 to 5 (each stump on its own would add -5 to 5)
    Bounds: 1 - 1 = 0 and 1 + 5 = 6.
    """
    low_moves, high_moves, n_counted = bound_each(
        case, paths, reach, segments, scores, start >= 0
    )
    low_sum, high_sum = 0.0, 0.0
    least, greatest = np.inf, -np.inf
    for h in range(n_counted):
        if 0 <= start <= h:
            least, greatest = min(least, low_sum), max(greatest, high_sum)
        low_sum += low_moves[h]
        high_sum += high_moves[h]
    return min(least, low_sum), max(greatest, high_sum)
