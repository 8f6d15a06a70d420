"""A run asks its shards questions; this module defines the messages that they exchange.

Each message is a `ShardQuestion` to every shard; what they answer is added up.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.arrays import IntArray
from core.model.hypotheses import Hypothesis

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
    """How many weights a hypothesis has wrong and right, and how many quanta."""

    hypothesis: Hypothesis
    codes: tuple[int, ...]


@dataclass(frozen=True)
class Sums:
    """Sums by code of all rows: of some lanes; where they are kept, of all."""

    lanes: IntArray


@dataclass(frozen=True)
class PlaceSplit:
    """A place of a tree, split in two by a stump: the sums of both, where kept.

    Places are numbered as they come, from 0, all rows; until the next step.
    """

    place: int
    feature_idx: int
    code: int


@dataclass(frozen=True)
class PlaceSums:
    """Sums by code of the rows in a place of a tree."""

    place: int
    lanes: IntArray


@dataclass(frozen=True)
class FactorSums:
    """Sums by code of the weights times the votes of a hypothesis; their quanta."""

    hypothesis: Hypothesis
    codes: tuple[int, ...]
    lanes: IntArray


Ask = Sides | Sums | PlaceSplit | PlaceSums | FactorSums


class ShardQuestion(NamedTuple):
    """What every shard is asked, after it has taken a step, if there is one."""

    step: WeightStep | None
    ask: Ask


class ShardAnswer(NamedTuple):
    """What a shard answers; the answers of all are added up.

    `quanta` are those of all rows, `numbers` and `sums` what was asked for; sums by
    code are as `kernels.add_moved_rows` takes them, those of a split of both sides.
    """

    quanta: int
    numbers: IntArray
    sums: IntArray
