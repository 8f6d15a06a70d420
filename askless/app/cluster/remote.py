"""Exchanges messages with all shards of one run, whichever processes hold them.

A `ShardExchange` sends the messages and replaces lost processes.
"""

from collections.abc import Sequence
from typing import Protocol

from askless.app.cluster.messages import Begin, CountAll, Order, Restore, answer_of
from askless.core.arrays import IntArray
from askless.core.codes.binning import Binned
from askless.core.training.shards.questions import (
    PlaceSplit,
    ShardAnswer,
    ShardQuestion,
    WeightStep,
)

# Arrays of an answer (its quanta, numbers and sums), and of counts.
N_ANSWER, N_COUNTS = 3, 2


class ShardExchange(Protocol):
    """Sends orders to all shards. `binned` has the cuts and lanes, but no rows."""

    binned: Binned
    n_outputs: int

    def exchange(
        self, orders: Sequence[Order], history: Sequence[Order], n_arrays: int
    ) -> list[IntArray]:
        """Send orders to every shard; return the answers to the last, added up.

        A shard that replaces a lost one is sent `history` and the last order.
        """


class RemoteShards:
    """The shards of one run in other processes; see `shards.shards.Shards`.

    The orders that change a shard are kept, so that a new process can repeat them: the
    steps, and the splits of a tree since the last one.
    """

    def __init__(self, group: ShardExchange, begin: Begin) -> None:
        self.binned = group.binned
        self.n_outputs = group.n_outputs
        self.is_kept = begin.is_kept
        self._group = group
        self._begin = begin
        self._steps: list[WeightStep] = []
        self._splits: list[PlaceSplit] = []
        orders: list[Order] = [begin, CountAll()]
        n_weighted, counts = group.exchange(orders, [begin], N_COUNTS)
        self.n_weighted = int(n_weighted[0])
        # Axes: feature, output, sign of the weight, code.
        self._counts = counts.reshape(-1, self.n_outputs, 2, 256)

    def ask(self, question: ShardQuestion) -> ShardAnswer:
        """Ask every shard; return their answers added up."""
        restore = Restore(tuple(self._steps), tuple(self._splits))
        history: list[Order] = [self._begin, restore]
        arrays = self._group.exchange([question], history, N_ANSWER)
        if question.step is not None:
            self._steps.append(question.step)
            self._splits = []
        if isinstance(question.ask, PlaceSplit):
            self._splits.append(question.ask)
        return answer_of(
            arrays,
            question.ask,
            self.binned,
            n_outputs=self.n_outputs,
            is_split=self._begin.is_split,
        )

    def count(self, feature_idx: int) -> IntArray:
        """Return how many weights are not 0 at first, by output, class and code."""
        counts: IntArray = self._counts[feature_idx]
        return counts
