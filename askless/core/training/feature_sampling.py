"""A sampler chooses the features of a round: all, random ones, or those that paid off.

A sampling is asked before every choice of a stump, also inside trees and products, and
told the edges that were found.
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from askless.core.arrays import FloatArray, IntArray

SearchName = Literal["all", "lazy", "ucb", "ucb_unscaled"]


@dataclass
class FeatureSampling:
    """Looks at every feature; the interface that the boosting loop uses.

    `has_memory`: picks depend on the edges found before, so that a run that continues
    after an interruption must find them again.
    """

    n_features: int
    has_memory: ClassVar[bool] = False

    def begin(self, number: int) -> None:
        """Begin the round of this number."""

    def pick(self) -> IntArray:
        """Choose features to look at; positions, ascending."""
        return np.arange(self.n_features)

    def reward(self, feature_idxs: IntArray, edges: FloatArray) -> None:
        """Learn from the largest edge found on each of the features picked."""


@dataclass
class LazySampling(FeatureSampling):
    """Looks at `size` features drawn at random (LazyBoost; Escudero et al. 2000).

    The draws are keyed by the seed and the number of the round.
    """

    size: int
    seed: int

    def begin(self, number: int) -> None:
        """Begin a round, which has its own stream of random numbers."""
        key = np.array([self.seed, number], dtype=np.uint64)
        self._generator = np.random.Generator(np.random.Philox(key=key))

    def pick(self) -> IntArray:
        """Choose features at random, without replacement; positions, ascending."""
        size = min(self.size, self.n_features)
        picked = self._generator.choice(self.n_features, size, replace=False)
        return np.sort(picked)


@dataclass
class UCBSampling(FeatureSampling):
    """Looks at the `size` features of largest upper confidence bound.

    UCB(k) of Kegl and Busa-Fekete (2009), section 3.1: each feature is an arm with
    reward 1 - sqrt(1 - gamma^2), and the bound is its mean reward plus
    b sqrt(2 ln t/T_j), T_j the times it was looked at and t all choices so far. Every
    arm is taken once at first, from the lowest on. Ties go to the lowest feature.

    The paper has b = 1, the range that rewards could have; that is `ucb_unscaled`.
    `ucb` (`is_scaled`) takes the largest reward seen so far for b (UCB1 for rewards in
    [0, b]; Auer et al. 2002): rewards are of the order of gamma^2/2, and beside a bonus
    a hundred times as large the features would be swept by count alone, the good ones
    all in the same few rounds. This b was chosen by the error on held-out rows of
    synthetic tables, seeds 11 to 13 (`make_table` of `benchmarks.bench`, 20,000 x
    1,000, 1,500 rounds, k = 20): there it ends 0.2 to 0.4 points above `all`, b = 1
    ends 4.0 to 4.2 above and a random choice (`lazy`) 0.0 to 0.2.
    docs/performance.md has figures of other seeds.

    Inside trees and products every choice of a stump is a turn, with the edge of its
    candidates for gamma: in the place of a factor that of the whole product, in a leaf
    of a tree the *gain* over what the leaf votes so far. A gain is at most the weight
    of its leaf, yet one mean per feature holds both. The paper rewards an arm by its
    "optimal base learner" and partitions "at each inner node" as for stumps; it leaves
    open which edge is meant there.
    """

    has_memory: ClassVar[bool] = True

    size: int
    is_scaled: bool = True
    counts: FloatArray = field(init=False)
    means: FloatArray = field(init=False)
    n_picks: int = 0
    largest: float = 0.0

    def __post_init__(self) -> None:
        """Start without knowledge of any arm."""
        self.counts = np.zeros(self.n_features)
        self.means = np.zeros(self.n_features)

    def pick(self) -> IntArray:
        """Choose the features of largest bound; a feature never picked comes first."""
        self.n_picks += 1
        with np.errstate(divide="ignore", invalid="ignore"):
            spans = np.sqrt(2.0 * math.log(self.n_picks) / self.counts)
            if self.is_scaled:
                spans *= self.largest
        bounds = np.where(self.counts > 0, self.means + spans, np.inf)
        return pick_largest(bounds, self.size)

    def reward(self, feature_idxs: IntArray, edges: FloatArray) -> None:
        """Update the mean rewards of the arms that were picked."""
        squares = np.square(np.minimum(edges, 1.0))
        rewards = 1.0 - np.sqrt(1.0 - squares)
        self.largest = max(self.largest, float(rewards.max(initial=0.0)))
        self.counts[feature_idxs] += 1.0
        steps = (rewards - self.means[feature_idxs]) / self.counts[feature_idxs]
        self.means[feature_idxs] += steps


def pick_largest(bounds: FloatArray, size: int) -> IntArray:
    """Return the positions of the `size` largest, ascending; ties go to the lowest."""
    if size >= bounds.size:
        return np.arange(bounds.size)
    least = np.partition(bounds, bounds.size - size)[bounds.size - size]
    is_best = bounds > least
    ties = np.flatnonzero(bounds == least)
    is_best[ties[: size - np.count_nonzero(is_best)]] = True
    return np.flatnonzero(is_best)


def make_sampling(
    name: SearchName, n_features: int, size: int, seed: int
) -> FeatureSampling:
    """Return the sampling that the parameter `search` names."""
    if name in ("ucb", "ucb_unscaled"):
        return UCBSampling(n_features, size, is_scaled=name == "ucb")
    if name == "lazy":
        return LazySampling(n_features, size, seed)
    return FeatureSampling(n_features)
