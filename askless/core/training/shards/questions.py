"""A run asks its shards questions; this module defines the messages that they exchange.

Each message is a `ShardQuestion` to every shard; what they answer is added up.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askless.core.arrays import IntArray
from askless.core.model.hypotheses import Hypothesis

NO_NUMBERS: IntArray = np.empty(0, dtype=np.int64)


class WeightStep(NamedTuple):
    """A change of all weights, by the votes of a hypothesis.

    `codes` are those of the cuts of its stumps; where there is no hypothesis, all
    abstain. `factors` multiply the weights of rows that are wrong, abstained on and
    right. With `is_fresh` the sums are taken anew, since the quantum was scaled.
    A shard follows from its rows and the steps so far alone.
    """

    hypothesis: Hypothesis | None
    codes: tuple[int, ...]
    factors: tuple[float, float, float]
    is_fresh: bool


@dataclass(frozen=True)
class Sides:
    """Asks for the weights that a hypothesis has wrong and right, and their quanta."""

    hypothesis: Hypothesis
    codes: tuple[int, ...]


@dataclass(frozen=True)
class Sums:
    """Asks for sums by code of all rows on some lanes; on all, where sums are kept."""

    lanes: IntArray


@dataclass(frozen=True)
class PlaceSplit:
    """Splits a place of a tree in two by a stump; asks for the sums of both, if kept.

    Places are numbered in the order they are made, 0 is all rows; a step forgets them.
    """

    place: int
    feature_idx: int
    code: int


@dataclass(frozen=True)
class PlaceSums:
    """Asks for sums by code of the rows in a place of a tree."""

    place: int
    lanes: IntArray


@dataclass(frozen=True)
class FactorSums:
    """Asks for sums by code of weights times a hypothesis' votes, and their quanta."""

    hypothesis: Hypothesis
    codes: tuple[int, ...]
    lanes: IntArray


Ask = Sides | Sums | PlaceSplit | PlaceSums | FactorSums


class ShardQuestion(NamedTuple):
    """A question to every shard, and the step to apply before it, if any."""

    step: WeightStep | None
    ask: Ask


class ShardAnswer(NamedTuple):
    """A shard's answer; the answers of all shards are added up.

    `quanta` are those of all rows; `numbers` and `sums` answer the question. Sums by
    code are shaped as for `kernels.add_moved_rows`; a split has those of both sides.
    """

    quanta: int
    numbers: IntArray
    sums: IntArray
