"""What learners share: how stumps are found, and what the rule makes of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.arrays import FloatArray, IntArray
from core.model.hypotheses import Hypothesis, Stump
from core.table.binning import Binned
from core.training.feature_sampling import FeatureSampling
from core.training.histograms import Candidates
from core.training.params import BoostParams
from core.training.weights import Weights

MIN_EDGE = 1e-12

# Scores of the same split, summed in different orders, differ by less.
SAME = 1e-12


@dataclass(frozen=True)
class Choice:
    """A hypothesis with its edge and the weight of the rows on which it votes.

    `codes` are those of its stumps' cuts.
    """

    hypothesis: Hypothesis
    edge: float
    present: float
    codes: tuple[int, ...]


# Scores of candidates: (feature_idxs, edges, presents, features read besides).
Scorer = Callable[[IntArray, FloatArray, FloatArray, tuple[int, ...]], FloatArray]


@dataclass(frozen=True)
class Means:
    """What a learner has to find the hypothesis of a round with."""

    weights: Weights
    params: BoostParams
    sampling: FeatureSampling
    scorer: Scorer

    def look(self, find: Callable[[IntArray], Candidates]) -> Candidates:
        """Find the best stumps on the features picked.

        The sampling learns from every look: at the root and for a factor from edges, in
        a leaf of a tree from gains.
        """
        candidates = find(self.sampling.pick())
        self.sampling.reward(candidates.feature_idxs, candidates.edges)
        return candidates


# Finds a hypothesis from the best stumps over all rows; None where there is no stump.
Learner = Callable[[Means, Candidates], Choice | None]


def choose(
    candidates: Candidates,
    scorer: Scorer,
    edge_before: float = 0.0,
    present: float | None = None,
    already: tuple[int, ...] = (),
) -> tuple[int, float]:
    """Position and score of the candidate to buy; (-1, -inf) where there is none.

    A tree that a candidate adds its gain to has the edge `edge_before`, and votes on
    the weight `present`, by default that of the candidate. `already` are features that
    the hypothesis reads besides.
    """
    if candidates.edges.size == 0:
        return -1, -math.inf
    presents = candidates.presents
    if present is not None:
        presents = np.full(presents.size, present)
    scores = scorer(
        candidates.feature_idxs, edge_before + candidates.edges, presents, already
    )
    scores = np.where(candidates.edges > MIN_EDGE, scores, -np.inf)
    position = first_best(scores)
    score = float(scores[position])
    return (position, score) if math.isfinite(score) else (-1, -math.inf)


def is_better(score: float, before: float) -> bool:
    """Whether a score is larger by more than rounding."""
    return score > before + SAME * abs(before)


def first_best(scores: FloatArray) -> int:
    """Position of the first of the largest scores; rounding doesn't break a tie."""
    most = float(scores.max())
    return int((scores >= most - SAME * abs(most)).argmax())


def find_stump(means: Means, roots: Candidates) -> Choice | None:
    """Return the stump that the rule buys."""
    position, _ = choose(roots, means.scorer)
    if position < 0:
        return None
    stump = make_stump(means.weights.binned, roots, position)
    edge, present = roots.edges[position], roots.presents[position]
    return Choice(stump, float(edge), float(present), (int(roots.cuts[position]),))


def make_stump(binned: Binned, candidates: Candidates, position: int) -> Stump:
    """Return a candidate in the units of its feature, with its best votes."""
    feature_idx = int(candidates.feature_idxs[position])
    return Stump(
        feature_idx=feature_idx,
        cut=float(binned.cuts[feature_idx][candidates.cuts[position]]),
        votes=tuple(candidates.votes[position].tolist()),
        is_category=bool(binned.is_category[feature_idx]),
    )
