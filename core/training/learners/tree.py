"""Trees of stumps, grown leaf by leaf."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.arrays import FloatArray, IntArray
from core.kernels import MISSING
from core.model.hypotheses import LEAF, Stump, Tree
from core.table.binning import Binned
from core.training.learners.choice import (
    Found,
    LeafFinder,
    Scorer,
    choose,
    first_best,
    is_better,
)
from core.training.learners.stump import Candidates, make_stump


@dataclass(frozen=True)
class Leaf:
    """Rows that end in one place: beside stump `parent`, on `side` 0 (above) or 1."""

    parent: int
    side: int
    rows: IntArray
    votes: tuple[int, ...]
    candidates: Candidates


def find_tree(
    binned: Binned,
    signed_weights: FloatArray,
    roots: Candidates,
    finder: LeafFinder,
    scorer: Scorer,
    n_leaves: int,
) -> Found | None:
    """Grow a tree of at most `n_leaves` leaves by what the rule makes of it.

    Parameters
    ----------
    binned : Binned
    signed_weights : float64 array, shape (n_samples, n_outputs)
    roots : Candidates
        The best stumps over all rows.
    finder : LeafFinder
    scorer : Scorer
    n_leaves : int
        At least 2; 2 is a stump.

    Returns
    -------
    Found or None
        None where there is no stump at all.

    Notes
    -----
    Kegl and Busa-Fekete (2009), section 2.1: the stump optimiser looks for the
    stump that improves the edge of a leaf most, and the leaf of largest improvement
    is split, here of largest score by the rule with the edge and the costs of the
    tree that comes of it. A split that lowers the score is not made, so where
    features cost, a tree may stay smaller; with `adaboost` it has `n_leaves` leaves
    unless no split improves its edge. Ties go to the older leaf (above before
    below), then to the lowest feature.
    """
    position, score = choose(roots, scorer)
    if position < 0:
        return None
    edge, present = float(roots.edges[position]), float(roots.presents[position])
    root = make_stump(binned, roots, position, signed_weights)
    stumps, children = [root], [[LEAF, LEAF]]
    everything = np.arange(binned.codes.shape[1])
    leaves: list[Leaf] = []
    fresh = split(binned, roots, position, root, everything)
    while len(leaves) + len(fresh) < n_leaves:
        for side, (rows, votes) in enumerate(fresh):
            found = finder(rows, votes)
            leaves.append(Leaf(len(stumps) - 1, side, rows, votes, found))
        already = tuple(dict.fromkeys(one.feature_idx for one in stumps))
        choices = [
            choose(leaf.candidates, scorer, edge, present, already) for leaf in leaves
        ]
        best = first_best(np.array([leaf_score for _, leaf_score in choices]))
        position, best_score = choices[best]
        if not is_better(best_score, score):
            break
        leaf, score = leaves.pop(best), best_score
        candidates = leaf.candidates
        edge += float(candidates.edges[position])
        stump = make_stump(binned, candidates, position, signed_weights, leaf.rows)
        children[leaf.parent][leaf.side] = len(stumps)
        stumps.append(stump)
        children.append([LEAF, LEAF])
        fresh = split(binned, candidates, position, stump, leaf.rows)
    if len(stumps) == 1:
        return Found(root, edge, present)
    tree = Tree(tuple(stumps), tuple((above, below) for above, below in children))
    return Found(tree, edge, present)


def split(
    binned: Binned, candidates: Candidates, position: int, stump: Stump, rows: IntArray
) -> list[tuple[IntArray, tuple[int, ...]]]:
    """Part rows by a stump; rows and votes above, then below. Missing rows drop out."""
    codes = binned.codes[stump.feature_idx][rows]
    cut = candidates.cuts[position]
    is_above = codes == cut if stump.is_category else codes > cut
    is_there = codes != MISSING
    against = tuple(-vote for vote in stump.votes)
    return [
        (rows[is_above & is_there], stump.votes),
        (rows[~is_above & is_there], against),
    ]
