"""What a coordinator and its shard processes send each other, as bytes.

Answers are numbers, which go as they lie in memory. The rest is small and pickled:
each end has started the other, and nobody else can write to what they talk by.
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.cluster.handover import Handover
from core.arrays import IntArray
from core.table.binning import Binned
from core.training.questions import (
    Ask,
    PlaceSplit,
    ShardAnswer,
    ShardQuestion,
    WeightStep,
)
from core.training.shards import Shard
from core.training.trimming import fill, trim


@dataclass(frozen=True)
class Begin:
    """A run begins, with the weights of its beginning."""

    is_split: bool
    is_kept: bool


@dataclass(frozen=True)
class CountAll:
    """How many weights there are, and by code of every feature."""


@dataclass(frozen=True)
class Restore:
    """What a lost shard did: steps, and splits of a tree since the last of them."""

    steps: tuple[WeightStep, ...]
    splits: tuple[PlaceSplit, ...]


Order = Handover | Begin | Restore | CountAll | ShardQuestion


class Letter(NamedTuple):
    """A message to a shard; the answer, if there is one, has its number."""

    number: int
    order: Order


def pack_letter(letter: Letter) -> bytes:
    """Return a message to a shard as bytes."""
    return pickle.dumps(letter, protocol=pickle.HIGHEST_PROTOCOL)


def pack_numbers(number: int, arrays: Sequence[IntArray]) -> bytes:
    """Return an answer as bytes: its number, the size of each array, and these."""
    head = np.array([number, *(array.size for array in arrays)], dtype=np.int64)
    return b"".join([head.tobytes(), *(array.tobytes() for array in arrays)])


def unpack_numbers(packed: bytes, n_arrays: int) -> tuple[int, list[IntArray]]:
    """Return the number of an answer and its arrays, which can't be written to."""
    numbers = np.frombuffer(packed, dtype=np.int64)
    number, *sizes = numbers[: 1 + n_arrays].tolist()
    stops = np.cumsum(sizes)[:-1]
    return number, np.split(numbers[1 + n_arrays :], stops)


def arrays_of(answer: ShardAnswer, ask: Ask, shard: Shard) -> list[IntArray]:
    """Return what an answer is sent as; no more sums than are read."""
    sums = trim(ask, answer.sums, shard.binned, is_split=shard.is_split)
    return [np.array([answer.quanta], dtype=np.int64), answer.numbers, sums]


def answer_of(
    arrays: Sequence[IntArray],
    ask: Ask,
    heads: Binned,
    *,
    n_outputs: int,
    is_split: bool,
) -> ShardAnswer:
    """Return an answer that was sent, or several whose arrays were added up."""
    quanta, numbers, sums = arrays
    sums = fill(ask, sums, heads, n_outputs=n_outputs, is_split=is_split)
    return ShardAnswer(int(quanta[0]), numbers, sums)
