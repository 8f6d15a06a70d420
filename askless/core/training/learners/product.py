"""The learner `product`: stumps whose votes are multiplied, improved one at a time."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from askless.core.codes.binning import Binned
from askless.core.model.hypotheses import Product, Stump
from askless.core.training.learner import (
    Choice,
    Learner,
    RoundSearch,
    choose_candidate,
    is_significantly_better,
    make_stump,
)
from askless.core.training.shards.histograms import Candidates

MAX_SWEEPS = 20


@dataclass(frozen=True)
class ProductLearner(Learner):
    """Improves a product of at most `factors` stumps, one factor at a time.

    Notes
    -----
    Kegl and Busa-Fekete (2009), eq. 9: with all factors but one fixed, the best stump
    in its place is the best one for the weights times the votes of the others.
    Factors that are not set are constants of 1. They are taken in turn until none
    can be bettered by the rule, with the edge and the costs of the whole product,
    or for `MAX_SWEEPS` turns. Ties go to the lowest feature.
    """

    name: ClassVar[str] = "product"

    factors: int

    def fit(self, search: RoundSearch, roots: Candidates) -> Choice | None:
        """Return the product; a stump where no second factor improves it."""
        weights = search.weights
        position, score = choose_candidate(roots, search.scorer)
        if position < 0:
            return None
        # Each stump with the code of its cut, by its place.
        factors = {0: make_factor(weights.binned, roots, position)}
        chosen = join_factors(factors, roots, position)
        # Factors in a row that could not be bettered; the first was just chosen.
        n_idle, turn = 1, 1
        while n_idle < self.factors and turn < MAX_SWEEPS * self.factors:
            place = turn % self.factors
            rest = [factors[idx] for idx in sorted(factors) if idx != place]
            stumps, codes = zip(*rest, strict=True)
            others = Product(stumps)
            find_factors = partial(weights.search_factors, others, codes)
            candidates = search.search_picked(find_factors)
            already = others.feature_idxs
            position, best = choose_candidate(
                candidates, search.scorer, already=already
            )
            n_idle += 1
            turn += 1
            if is_significantly_better(best, score):
                n_idle, score = 1, best
                factors[place] = make_factor(weights.binned, candidates, position)
                chosen = join_factors(factors, candidates, position)
        return chosen


def make_factor(
    binned: Binned, candidates: Candidates, position: int
) -> tuple[Stump, int]:
    """Return a candidate as a stump, with the code of its cut."""
    code = int(candidates.cuts[position])
    return make_stump(binned, candidates, position), code


def join_factors(
    factors: dict[int, tuple[Stump, int]], candidates: Candidates, position: int
) -> Choice:
    """Return the product of some stumps, in the order of their places.

    Its edge and presence are those of the candidate that was added last.
    """
    stumps, codes = zip(*(factors[place] for place in sorted(factors)), strict=True)
    hypothesis = stumps[0] if len(stumps) == 1 else Product(stumps)
    edge, present = candidates.edges[position], candidates.presents[position]
    return Choice(hypothesis, float(edge), float(present), codes)
