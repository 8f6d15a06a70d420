"""Paths of hypotheses through the known features of a case, and their votes.

A feature's status is `OPEN` (may be asked), `KNOWN`, `GONE` (asked in vain) or
`PENDING` (not back yet).
"""

from typing import Any, NamedTuple

import numpy as np

from askless.core.kernels.jit import kernel

OPEN = 0
KNOWN = 1
GONE = 2
PENDING = 3

# Where a path ends without a vote: `Paths.votes[~NO_VOTE]` is 0.
NO_VOTE = -1

# Columns of `Paths.nodes`.
FEATURE, IS_CATEGORY, ABOVE, BELOW, HERE, NEXT_FACTOR = range(6)


class Case(NamedTuple):
    """What is known and paid of one case."""

    #: float64 (n_features,); NaN unless known
    values: Any
    #: int64 (n_features,)
    status: Any
    #: bool (n_groups,)
    is_group_paid: Any


class Paths(NamedTuple):
    """Hypotheses as nodes that a path leads through, to a vote.

    A place to go to is a node, or, as -1 - v, the vote v.
    """

    #: int64 (n_hypotheses,); the first node of each
    roots: Any
    #: int64 (n_nodes, 6); the feature, whether the cut is a category, where to go above
    #: the cut and otherwise, the vote that stands if the path ends here, and of a
    #: product a node of the next factor, without which it has no vote (else -1)
    nodes: Any
    #: float64 (n_nodes,)
    cuts: Any
    #: float64 (n_votes, n_outputs); alpha times +1 or -1; of the first vote alone 0
    votes: Any
    #: float64 (n_hypotheses,)
    alphas: Any


class Trail(NamedTuple):
    """The memory of a search through the nodes of hypotheses."""

    #: int64 (n_nodes + 1,)
    stack: Any
    #: int64 (n_nodes,); the last hypothesis for which a node was looked at
    seen_for: Any


# numba counts the references to all arrays of a record that is passed on inside a loop.
# So what runs at each step takes arrays, `follow_node` reads before it branches, and
# `follow` has one way out: 500 stumps in 1.2 us instead of 30.


@kernel
def follow_node(value, node, nodes, cuts):
    """Return where a node's feature value leads; see `follow`."""
    cut, is_category = cuts[node], nodes[node, IS_CATEGORY]
    above, below, here = nodes[node, ABOVE], nodes[node, BELOW], nodes[node, HERE]
    if np.isnan(value) or (is_category and value < 0.0):
        return ~here
    is_above = value == cut if is_category else value > cut
    return above if is_above else below


@kernel
def follow(values, status, node, nodes, cuts):
    """Follow a path from a node as far as values are known.

    Returns the node that waits for its feature, or -1 - v where the path has ended
    with vote v. A product that waits for one factor has ended without a vote if
    another abstains.
    """
    while node >= 0 and (
        status[nodes[node, FEATURE]] == KNOWN or status[nodes[node, FEATURE]] == GONE
    ):
        feature_idx = nodes[node, FEATURE]
        value = values[feature_idx] if status[feature_idx] == KNOWN else np.nan
        node = follow_node(value, node, nodes, cuts)
    ahead = nodes[node, NEXT_FACTOR] if node >= 0 else -1
    while ahead >= 0:
        feature_idx = nodes[ahead, FEATURE]
        is_answered = status[feature_idx] == KNOWN or status[feature_idx] == GONE
        value = values[feature_idx] if status[feature_idx] == KNOWN else np.nan
        if is_answered and follow_node(value, ahead, nodes, cuts) == NO_VOTE:
            node = NO_VOTE
        ahead = nodes[ahead, NEXT_FACTOR]
    return node


@kernel
def vote_at(end, nodes):
    """Return the vote of a path that has come to `end` (`follow`); 0: none."""
    return nodes[end, HERE] if end >= 0 else ~end


@kernel
def vote_of_path(values, node, nodes, cuts):
    """Return the vote of a path from a node on; every value is known or missing."""
    while node >= 0:
        node = follow_node(values[nodes[node, FEATURE]], node, nodes, cuts)
    return ~node


@kernel
def add_votes(values, paths, out_votes, out_alphas):
    """Add the full vote of every row.

    values: (n_rows, n_features). out_votes: (n_rows, n_outputs) and out_alphas:
    (n_rows,), the alpha that voted; both 0 before.
    """
    roots, nodes, cuts, votes, alphas = paths
    for row in range(values.shape[0]):
        row_values = values[row]
        for h in range(roots.shape[0]):
            vote = vote_of_path(row_values, roots[h], nodes, cuts)
            out_alphas[row] += alphas[h] if vote > 0 else 0.0
            for output in range(votes.shape[1]):
                out_votes[row, output] += votes[vote, output]


@kernel
def tally_votes(ends, is_counted, length, paths, out_votes):
    """Add the vote of one case; return the alpha that voted, and that may vote.

    Counts each of the first `length` hypotheses if it has a vote, or if it waits for a
    feature and `is_counted` (n_hypotheses,); and the next one if it has a vote already.
    ends: (n_hypotheses,), as from `follow`. out_votes: (n_outputs,), 0 before.
    """
    _, nodes, _, votes, alphas = paths
    known = 0.0
    planned = 0.0
    for h in range(min(length + 1, ends.shape[0])):
        vote = vote_at(ends[h], nodes)
        if vote > 0:
            known += alphas[h]
            planned += alphas[h]
            for output in range(out_votes.shape[0]):
                out_votes[output] += votes[vote, output]
        elif ends[h] >= 0 and h < length and is_counted[h]:
            planned += alphas[h]
    return known, planned
