"""Products of stumps, improved one factor at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.arrays import FloatArray
from core.model.hypotheses import Product, Stump
from core.table.binning import Binned
from core.training.learners.choice import (
    FactorFinder,
    Found,
    Scorer,
    choose,
    is_better,
)
from core.training.learners.stump import Candidates, make_stump
from core.training.weights import cast_votes

MAX_SWEEPS = 20


def find_product(
    binned: Binned,
    signed_weights: FloatArray,
    roots: Candidates,
    finder: FactorFinder,
    scorer: Scorer,
    n_factors: int,
) -> Found | None:
    """Find a product of at most `n_factors` stumps by what the rule makes of it.

    Parameters
    ----------
    binned : Binned
    signed_weights : float64 array, shape (n_samples, n_outputs)
    roots : Candidates
        The best stumps over all rows.
    finder : FactorFinder
    scorer : Scorer
    n_factors : int
        At least 1; 1 is a stump.

    Returns
    -------
    Found or None
        None where there is no stump at all.

    Notes
    -----
    Kegl and Busa-Fekete (2009), eq. 9: with all factors but one fixed, the best stump
    in its place is the best one for the weights times the votes of the others.
    Factors that are not set are constants of 1. They are taken in turn until none
    can be bettered by the rule, with the edge and the costs of the whole product,
    or for `MAX_SWEEPS` turns. Ties go to the lowest feature.
    """
    position, score = choose(roots, scorer)
    if position < 0:
        return None
    edge, present = float(roots.edges[position]), float(roots.presents[position])
    factors: list[Stump | None] = [None] * n_factors
    factors[0] = make_stump(binned, roots, position, signed_weights)
    n_idle, turn = 1, 1
    while n_idle < n_factors and turn < MAX_SWEEPS * n_factors:
        place = turn % n_factors
        others = [one for idx, one in enumerate(factors) if one and idx != place]
        rest = Product(tuple(others))
        ends, votes = cast_votes(binned, rest, signed_weights.shape[1])
        weights = signed_weights * votes[ends]
        found = finder(weights)
        # Rows on which a factor abstains have no weight left.
        presents = np.minimum(found.presents, np.abs(weights).sum())
        candidates = replace(found, presents=presents)
        position, best = choose(candidates, scorer, already=rest.feature_idxs)
        n_idle += 1
        if is_better(best, score):
            factors[place] = make_stump(binned, candidates, position, weights)
            edge, score = float(candidates.edges[position]), best
            present = float(candidates.presents[position])
            n_idle = 1
        turn += 1
    chosen = tuple(one for one in factors if one)
    if len(chosen) == 1:
        return Found(chosen[0], edge, present)
    return Found(Product(chosen), edge, present)
