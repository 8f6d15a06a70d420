"""All shards of a training, asked together; lost processes are replaced."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from askless.app.cluster.messages import (
    FAILURE,
    Begin,
    CodeSource,
    CountAll,
    Letter,
    Order,
    Restore,
    Weigh,
    arrays_to_answer,
    pack_letter,
    unpack_arrays,
    unpack_failure,
    unpack_number,
)
from askless.core.arrays import FloatArray, IntArray
from askless.core.codes.binning import Binned
from askless.core.errors import CoreError
from askless.core.training.shards.questions import (
    PlaceSplit,
    ShardAnswer,
    ShardQuestion,
    WeightStep,
)
from askless.core.training.shards.shards import Shards

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
        # Axes: lane, output, sign of the weight, code.
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
        return arrays_to_answer(
            arrays,
            question.ask,
            self.binned,
            n_outputs=self.n_outputs,
            is_split=self._begin.is_split,
        )

    def count(self, lane: int) -> IntArray:
        """Return how many weights are not 0 at first, by output, class and code."""
        counts: IntArray = self._counts[lane]
        return counts


MOST_LOSSES = 3
# A shard that is silent for longer is given up: it may be stopped, or swapped out.
SILENCE_S = 600


class ShardsLostError(CoreError):
    """Too many processes of shards died in one run, which is given up."""

    def __init__(self, n_losses: int) -> None:
        self.n_losses = n_losses
        super().__init__(
            f"The training was given up: {n_losses} of its shard processes have died."
        )


class ShardLine(Protocol):
    """The line to one shard: to its process, or to the process that replaced it."""

    @property
    def name(self) -> str:
        """The name of the shard in error messages."""

    def start(self) -> None:
        """Start a process."""

    def send(self, packed: bytes) -> bool:
        """Send a message; return whether that succeeded."""

    def receive(self) -> bytes | None:
        """Return the next message; None: the process has died."""

    def kill(self) -> None:
        """Kill the process; `receive` then returns None."""

    def end(self) -> None:
        """End the process; `start` may start another one."""

    def close(self) -> None:
        """End the process for good."""


L = TypeVar("L", bound=ShardLine)
#: Waits some seconds for messages and deaths; returns the lines that have any.
Wait = Callable[[Collection[L], float], list[L]]


@dataclass
class Traffic:
    """Messages and bytes sent to shards and received, and the time spent waiting."""

    n_sent: int = 0
    n_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    waited_s: float = 0.0


@dataclass
class Member(Generic[L]):
    """One shard: the line to it, and the orders that a new process is sent first."""

    line: L
    codes: CodeSource
    weigh: Weigh | None = None
    #: orders that its process was not sent yet
    owed: list[Order] = field(default_factory=list)

    def start(self) -> None:
        """Start a process."""
        self.line.start()
        self.owed = [self.codes]
        if self.weigh is not None:
            self.owed.append(self.weigh)

    def set_weights(self, weigh: Weigh) -> None:
        """Set the weights of the rows in a part."""
        self.owed = [change for change in self.owed if not isinstance(change, Weigh)]
        self.weigh = weigh
        self.owed.append(weigh)


class ShardGroup(Generic[L]):
    """Shards in other processes: a `ShardSource` for `boost`, once they have weights.

    A process that dies is replaced by one that repeats what it did. After `most_losses`
    deaths in a run, the next one raises `ShardsLostError`. There is one run at a time;
    the next one uses the same processes.
    """

    def __init__(
        self,
        members: Sequence[tuple[L, CodeSource]],
        wait: Wait[L],
        *,
        silence_s: float = SILENCE_S,
        most_losses: int = MOST_LOSSES,
    ) -> None:
        self.traffic = Traffic()
        self.n_losses = 0
        self.n_outputs = 0
        self.binned: Binned
        self._wait, self._silence_s, self._most_losses = wait, silence_s, most_losses
        self._number = 0
        self._members = [Member(*member) for member in members]
        try:
            for member in self._members:
                member.start()
        except BaseException:
            self.close()
            raise

    def weigh(self, heads: Binned, signed_weights: Sequence[FloatArray]) -> None:
        """Set the weights of all rows in a part, (n_samples, n_outputs) by shard.

        `heads` are the cuts and lanes of the part's table, without rows.
        """
        self.binned, self.n_outputs = heads, signed_weights[0].shape[1]
        for member, weights in zip(self._members, signed_weights, strict=True):
            member.set_weights(Weigh(heads, np.ascontiguousarray(weights)))

    def begin(self, *, is_split: bool, is_kept: bool) -> Shards:
        """Return the shards of a new run, with the weights that it starts with."""
        self.n_losses = 0
        return RemoteShards(self, Begin(is_split, is_kept))

    def exchange(
        self, orders: Sequence[Order], history: Sequence[Order], n_arrays: int
    ) -> list[IntArray]:
        """Send orders to every shard; return the answers to the last, added up.

        A process that replaces another is sent `history` and the last order. Each
        answer has `n_arrays` arrays. Raises ShardsLostError after too many deaths, and
        the error of a shard that could not carry out an order.
        """
        self._number += 1
        usual, late = (
            [Letter(self._number, order) for order in some]
            for some in (orders, [*history, orders[-1]])
        )
        waiting: dict[L, Member[L]] = {}
        for member in self._members:
            if not self._post(member, usual):
                self.revive(member, late)
            waiting[member.line] = member
        answers = []
        while waiting:
            for line in self._listen(waiting):
                packed = line.receive()
                if packed is None:
                    self.revive(waiting[line], late)
                    continue
                self.traffic.n_received += 1
                self.traffic.bytes_received += len(packed)
                number = unpack_number(packed)
                if number == FAILURE:
                    raise unpack_failure(packed, line.name)
                # Other numbers come from a shard that is still at work, and answer a
                # question whose asker was interrupted.
                if number == self._number:
                    answers.append(unpack_arrays(packed, n_arrays))
                    del waiting[line]
        return [np.sum(parts, axis=0) for parts in zip(*answers, strict=True)]

    def close(self) -> None:
        """End all processes."""
        for member in self._members:
            member.line.close()
        self._members = []

    def revive(self, member: Member[L], letters: Sequence[Letter]) -> None:
        """Replace a dead process; raise ShardsLostError after too many deaths."""
        is_sent = False
        while not is_sent:
            self.n_losses += 1
            if self.n_losses > self._most_losses:
                raise ShardsLostError(self.n_losses)
            member.line.end()
            member.start()
            is_sent = self._post(member, letters)

    def _post(self, member: Member[L], letters: Sequence[Letter]) -> bool:
        """Send orders that are owed, then letters; return whether all were sent."""
        owed = [Letter(0, order) for order in member.owed]
        member.owed = []
        for letter in [*owed, *letters]:
            packed = pack_letter(letter)
            if not member.line.send(packed):
                return False
            self.traffic.n_sent += 1
            self.traffic.bytes_sent += len(packed)
        return True

    def _listen(self, waiting: Collection[L]) -> list[L]:
        """Wait for answers and deaths; kill processes that are silent for too long."""
        start = time.perf_counter()
        ready = self._wait(waiting, self._silence_s)
        self.traffic.waited_s += time.perf_counter() - start
        if not ready:
            for line in waiting:
                # It is then ready with no message, and `exchange` replaces it.
                line.kill()
        return ready
