"""What learners share: how candidates are found, and how the rule weighs them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.arrays import FloatArray, IntArray
from core.model.hypotheses import Hypothesis
from core.training.feature_sampling import FeatureSampling
from core.training.histograms import Candidates

MIN_EDGE = 1e-12

# Scores of the same split, summed in different orders, differ by less.
SAME = 1e-12


@dataclass(frozen=True)
class Found:
    """A hypothesis with its edge and the weight of the rows on which it votes.

    `codes` are those of its stumps' cuts.
    """

    hypothesis: Hypothesis
    edge: float
    present: float
    codes: tuple[int, ...]


# Scores of candidates: (feature_idxs, edges, presents, features read besides).
Scorer = Callable[[IntArray, FloatArray, FloatArray, tuple[int, ...]], FloatArray]


def look_at(
    sampling: FeatureSampling, find: Callable[[IntArray], Candidates]
) -> Candidates:
    """Find the best stumps on the features picked; the sampling learns their edges."""
    candidates = find(sampling.pick())
    sampling.reward(candidates.feature_idxs, candidates.edges)
    return candidates


def choose(
    candidates: Candidates,
    scorer: Scorer,
    edge_before: float = 0.0,
    present: float | None = None,
    already: tuple[int, ...] = (),
) -> tuple[int, float]:
    """Position and score of the candidate to buy; (-1, -inf) where there is none.

    Parameters
    ----------
    candidates : Candidates
    scorer : Scorer
    edge_before : float
        Edge of the tree that a candidate adds its gain to.
    present : float, optional
        Weight on which that tree votes; that of the candidate by default.
    already : tuple of int
        Features that the hypothesis reads besides.
    """
    if candidates.edges.size == 0:
        return -1, -np.inf
    presents = candidates.presents
    if present is not None:
        presents = np.full(presents.size, present)
    scores = scorer(
        candidates.feature_idxs, edge_before + candidates.edges, presents, already
    )
    scores = np.where(candidates.edges > MIN_EDGE, scores, -np.inf)
    position = first_best(scores)
    if not np.isfinite(scores[position]):
        return -1, -np.inf
    return position, float(scores[position])


def is_better(score: float, before: float) -> bool:
    """Whether a score is larger by more than rounding."""
    return score > before + SAME * abs(before)


def first_best(scores: FloatArray) -> int:
    """Position of the first of the largest scores; rounding doesn't break a tie."""
    most = scores.max()
    return int(np.argmax(scores >= most - SAME * abs(most)))
