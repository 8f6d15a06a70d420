"""What a coordinator and its shards send each other, as bytes.

Answers are numbers, which go as they lie in memory, or JSON: nothing that a shard sends
is run. Orders are pickled: a shard has been started by who sends them.
"""

import json
import pickle
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np

from app.cluster.handover import Handover
from app.cluster.reading import RowsToRead
from core.arrays import FloatArray, IntArray
from core.errors import CoreError, Refusal, RefusedError
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

#: Where a shard has its codes from.
CodeSource = Handover | RowsToRead

# In place of an answer's number: that a shard is at work, and that it can't go on.
BEAT, FAILURE = -1, -2


class ShardFailedError(CoreError):
    """A shard could not do what it was told; another one could not either."""


@dataclass(frozen=True)
class Weigh:
    """The cuts and lanes of a part's table, and the weights of a shard's rows in it."""

    heads: Binned
    signed_weights: FloatArray


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


Order = CodeSource | Weigh | Begin | Restore | CountAll | ShardQuestion


class Letter(NamedTuple):
    """A message to a shard; the answer, if there is one, has its number."""

    number: int
    order: Order


def pack_letter(letter: Letter) -> bytes:
    """Return a message to a shard as bytes."""
    return pickle.dumps(letter, protocol=pickle.HIGHEST_PROTOCOL)


def pack_numbers(number: int, arrays: Sequence[IntArray] = ()) -> bytes:
    """Return an answer as bytes: its number, the size of each array, and these."""
    head = np.array([number, *(array.size for array in arrays)], dtype=np.int64)
    return b"".join([head.tobytes(), *(array.tobytes() for array in arrays)])


def pack_failure(error: Exception) -> bytes:
    """Return what a shard answers that can't do what it was told."""
    if isinstance(error, RefusedError):
        told: object = [asdict(refusal) for refusal in error.refusals]
    else:
        told = f"{type(error).__name__}: {error}"
    return pack_numbers(FAILURE) + json.dumps(told).encode()


def number_of(packed: bytes) -> int:
    """Return the number of an answer, or what stands in its place."""
    return int(np.frombuffer(packed, np.int64, 1)[0])


def failure_of(packed: bytes, where: str) -> CoreError:
    """Return what a failure raises; `where` names the shard."""
    told = json.loads(packed[8:])
    if isinstance(told, str):
        return ShardFailedError(f"The training was given up: {where} failed: {told}")
    wrong = (Refusal(**one) for one in told)
    return RefusedError(
        Refusal(f"{one.field} at {where}", one.rule, one.found, one.rows)
        for one in wrong
    )


def unpack_numbers(packed: bytes, n_arrays: int) -> list[IntArray]:
    """Return the arrays of an answer, which can't be written to."""
    numbers = np.frombuffer(packed, dtype=np.int64)
    sizes = numbers[1 : 1 + n_arrays]
    return np.split(numbers[1 + n_arrays :], np.cumsum(sizes)[:-1])


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
