"""Products of stumps, improved one factor at a time."""

from functools import partial

from core.model.hypotheses import Product, Stump
from core.training.histograms import Candidates
from core.training.learners.choice import (
    Choice,
    Means,
    choose,
    find_stump,
    is_better,
    make_stump,
)

MAX_SWEEPS = 20


def find_product(means: Means, roots: Candidates) -> Choice | None:
    """Find a product of at most `params.factors` stumps by what the rule makes of it.

    Notes
    -----
    Kegl and Busa-Fekete (2009), eq. 9: with all factors but one fixed, the best stump
    in its place is the best one for the weights times the votes of the others.
    Factors that are not set are constants of 1. They are taken in turn until none
    can be bettered by the rule, with the edge and the costs of the whole product,
    or for `MAX_SWEEPS` turns. Ties go to the lowest feature.
    """
    weights, n_factors = means.weights, means.params.factors
    found = find_stump(means, roots)
    if found is None:
        return None
    assert isinstance(found.hypothesis, Stump), "a product begins with one"
    score = choose(roots, means.scorer)[1]
    factors = {0: (found.hypothesis, found.codes[0])}
    n_idle, turn = 1, 1
    while n_idle < n_factors and turn < MAX_SWEEPS * n_factors:
        place = turn % n_factors
        rest = [factors[idx] for idx in sorted(factors) if idx != place]
        stumps, codes = zip(*rest, strict=True)
        others = Product(stumps)
        candidates = means.look(partial(weights.find_factors, others, codes))
        already = others.feature_idxs
        position, best = choose(candidates, means.scorer, already=already)
        n_idle += 1
        turn += 1
        if is_better(best, score):
            n_idle, score = 1, best
            stump = make_stump(weights.binned, candidates, position)
            factors[place] = stump, int(candidates.cuts[position])
            edge, present = candidates.edges[position], candidates.presents[position]
            stumps, codes = zip(*(factors[idx] for idx in sorted(factors)), strict=True)
            found = Choice(Product(stumps), float(edge), float(present), codes)
    return found
