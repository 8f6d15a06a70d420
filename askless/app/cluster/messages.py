"""The messages between a coordinator and its shards, as bytes.

An answer is numbers as they are in memory, or JSON, so that nothing a shard sends can
run. Orders are pickled: they go to processes that the coordinator has started.
"""

import json
import pickle
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np

from askless.app.cluster.handover import Handover
from askless.app.cluster.reading import RowsToRead
from askless.core.arrays import FloatArray, IntArray
from askless.core.codes.binning import Binned
from askless.core.errors import CoreError, Refusal, RefusedError
from askless.core.training.shards.questions import (
    Ask,
    PlaceSplit,
    ShardAnswer,
    ShardQuestion,
    WeightStep,
)
from askless.core.training.shards.shards import Shard
from askless.core.training.shards.trimming import restore_sums, trim_sums

#: Where a shard gets its codes from.
CodeSource = Handover | RowsToRead

# Instead of the number of an answer: a shard is at work; a shard has failed.
BEAT, FAILURE = -1, -2


class ShardFailedError(CoreError):
    """A shard could not carry out an order; its successor could not either."""


@dataclass(frozen=True)
class Weigh:
    """The cuts and lanes of a part's table, and the weights of a shard's rows in it."""

    heads: Binned
    signed_weights: FloatArray


@dataclass(frozen=True)
class Begin:
    """Begin a run, with the weights that it starts with."""

    is_split: bool
    is_kept: bool


@dataclass(frozen=True)
class CountAll:
    """Count the rows with a weight: all, and by code of every lane."""


@dataclass(frozen=True)
class Restore:
    """Repeat what a lost shard did: steps, then splits of the tree since the last."""

    steps: tuple[WeightStep, ...]
    splits: tuple[PlaceSplit, ...]


Order = CodeSource | Weigh | Begin | Restore | CountAll | ShardQuestion


class Letter(NamedTuple):
    """A message to a shard; the answer, if it has one, has the same number."""

    number: int
    order: Order


def pack_letter(letter: Letter) -> bytes:
    """Return a message to a shard as bytes."""
    return pickle.dumps(letter, protocol=pickle.HIGHEST_PROTOCOL)


def pack_arrays(number: int, arrays: Sequence[IntArray] = ()) -> bytes:
    """Return an answer as bytes: its number, the size of each array, and these."""
    head = np.array([number, *(array.size for array in arrays)], dtype=np.int64)
    return b"".join([head.tobytes(), *(array.tobytes() for array in arrays)])


def pack_failure(error: Exception) -> bytes:
    """Return the answer of a shard that could not carry out an order."""
    if isinstance(error, RefusedError):
        reason: object = [asdict(refusal) for refusal in error.refusals]
    else:
        reason = f"{type(error).__name__}: {error}"
    return pack_arrays(FAILURE) + json.dumps(reason).encode()


def unpack_number(packed: bytes) -> int:
    """Return the number of an answer; BEAT or FAILURE where it has none."""
    return int(np.frombuffer(packed, np.int64, 1)[0])


def unpack_failure(packed: bytes, where: str) -> CoreError:
    """Return the error that a failure stands for; `where` names the shard."""
    # The first 8 bytes are the number `FAILURE`.
    reason = json.loads(packed[8:])
    if isinstance(reason, str):
        return ShardFailedError(f"The training was given up: {where} failed: {reason}")
    refusals = (Refusal(**entry) for entry in reason)
    return RefusedError(
        Refusal(
            f"{refusal.field} at {where}", refusal.rule, refusal.found, refusal.rows
        )
        for refusal in refusals
    )


def unpack_arrays(packed: bytes, n_arrays: int) -> list[IntArray]:
    """Return the arrays that `pack_arrays` wrote after a number, read-only."""
    # The number comes first, then the size of each array, then all arrays in a row.
    numbers = np.frombuffer(packed, dtype=np.int64)
    sizes = numbers[1 : 1 + n_arrays]
    return np.split(numbers[1 + n_arrays :], np.cumsum(sizes)[:-1])


def answer_to_arrays(answer: ShardAnswer, ask: Ask, shard: Shard) -> list[IntArray]:
    """Return an answer as the arrays that are sent: only the sums that are read."""
    sums = trim_sums(ask, answer.sums, shard.binned, is_split=shard.is_split)
    return [np.array([answer.quanta], dtype=np.int64), answer.numbers, sums]


def arrays_to_answer(
    arrays: Sequence[IntArray],
    ask: Ask,
    heads: Binned,
    *,
    n_outputs: int,
    is_split: bool,
) -> ShardAnswer:
    """Return an answer that was sent, or several whose arrays were added up."""
    quanta, numbers, sums = arrays
    sums = restore_sums(ask, sums, heads, n_outputs=n_outputs, is_split=is_split)
    return ShardAnswer(int(quanta[0]), numbers, sums)
