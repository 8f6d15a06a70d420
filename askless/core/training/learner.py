"""A learner searches for hypotheses; defined here with how learners compare."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.codes.binning import Binned
from askless.core.model.hypotheses import Hypothesis, Stump
from askless.core.training.feature_sampling import FeatureSampling
from askless.core.training.shards.histograms import Candidates
from askless.core.training.shards.weights import Weights

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
class RoundSearch:
    """What a learner searches with in one round: weights, features, the rule."""

    weights: Weights
    sampling: FeatureSampling
    scorer: Scorer

    def search_picked(self, search: Callable[[IntArray], Candidates]) -> Candidates:
        """Search the features that the sampling picks; return the best stump on each.

        The sampling learns from every search: at the root and for a factor from edges,
        in a leaf of a tree from gains.
        """
        candidates = search(self.sampling.pick())
        self.sampling.reward(candidates.feature_idxs, candidates.edges)
        return candidates


class Learner(ABC):
    """Makes the weak hypothesis of a round.

    Each kind is one frozen dataclass, named in
    `askless.core.training.learners.LEARNERS`. Its fields are the parameters of
    `BoostParams` that it has, under the same names.
    """

    name: ClassVar[str]

    @property
    def n_places(self) -> int:
        """Sets of rows whose sums by code it needs at once: 1, all rows together."""
        return 1

    @abstractmethod
    def fit(self, search: RoundSearch, roots: Candidates) -> Choice | None:
        """Return the hypothesis that the rule buys; None where there is no stump.

        Parameters
        ----------
        search : RoundSearch
        roots : Candidates
            The best stump over all rows on each feature that the round looks at.
        """


def choose_candidate(
    candidates: Candidates,
    scorer: Scorer,
    edge_before: float = 0.0,
    present: float | None = None,
    already: tuple[int, ...] = (),
) -> tuple[int, float]:
    """Return position and score of the best candidate by the rule; (-1, -inf): none.

    Parameters
    ----------
    candidates : Candidates
    scorer : Scorer
    edge_before : float
        Edge of the tree that a candidate adds its gain to.
    present : float, optional
        Weight of the rows on which that tree votes; by default the candidate's.
    already : tuple of int
        Features that the hypothesis reads besides the candidate's.
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
    position = argmax_first(scores)
    score = float(scores[position])
    return (position, score) if math.isfinite(score) else (-1, -math.inf)


def is_significantly_better(score: float, before: float) -> bool:
    """Return whether a score is larger than the one before by more than rounding."""
    return score > before + SAME * abs(before)


def argmax_first(scores: FloatArray) -> int:
    """Return the position of the first largest score; rounding breaks no tie."""
    most = float(scores.max())
    return int((scores >= most - SAME * abs(most)).argmax())


def make_stump(binned: Binned, candidates: Candidates, position: int) -> Stump:
    """Return a candidate as a stump: its cut in the units of its feature."""
    feature_idx = int(candidates.feature_idxs[position])
    return Stump(
        feature_idx=feature_idx,
        cut=float(binned.cuts[feature_idx][candidates.cuts[position]]),
        votes=tuple(candidates.votes[position].tolist()),
        is_category=bool(binned.is_category[feature_idx]),
    )
