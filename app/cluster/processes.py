"""Shards in processes of this machine, started here and replaced when they die."""

from collections.abc import Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Self

import numpy as np

from app.cluster.handover import without_rows
from app.cluster.member import USUAL, ProcessKind, ShardProcess, Traffic
from app.cluster.messages import (
    Begin,
    Letter,
    Order,
    unpack_numbers,
)
from app.cluster.remote import RemoteShards
from core.arrays import FloatArray, IntArray
from core.errors import CoreError
from core.table.binning import Binned
from core.training.shards import Shards


class ShardsLostError(CoreError):
    """So many shard processes have died that a run is given up."""

    def __init__(self, n_losses: int) -> None:
        self.n_losses = n_losses
        super().__init__(
            f"The training was given up: {n_losses} of its shard processes have died."
        )


class ShardProcesses:
    """Processes of this machine, each with a shard; a `ShardSource` for `boost`.

    A process that dies is replaced, and what it did is repeated by the new one, at
    most `kind.most_losses` times a run; then `ShardsLostError` ends the run. There is
    one run at a time: the next takes the processes over.
    """

    def __init__(
        self,
        tables: Sequence[tuple[Binned, FloatArray]],
        kind: ProcessKind = USUAL,
    ) -> None:
        self.binned = without_rows(tables[0][0])
        self.n_outputs = tables[0][1].shape[1]
        self.traffic = Traffic()
        self.n_losses = 0
        self._kind = kind
        self._number = 0
        self._members: list[ShardProcess] = []
        with ExitStack() as started:
            started.callback(self.close)
            for table in tables:
                self._members.append(ShardProcess(table, kind, self.traffic))
            started.pop_all()

    def __enter__(self) -> Self:
        """Return the processes, which end with the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the processes."""
        self.close()

    @property
    def pids(self) -> list[int]:
        """The processes that have the shards now."""
        return [member.pid for member in self._members]

    def begin(self, *, is_split: bool, is_kept: bool) -> Shards:
        """Return the shards of a new run, with the weights of its beginning."""
        self.n_losses = 0
        return RemoteShards(self, Begin(is_split, is_kept))

    def exchange(
        self, orders: Sequence[Order], history: Sequence[Order], n_arrays: int
    ) -> list[IntArray]:
        """Send orders to every process; return the answers to the last, added up.

        A process that replaces another is sent `history` and the last order.
        """
        self._number += 1
        usual, late = (
            [Letter(self._number, order) for order in some]
            for some in (orders, [*history, orders[-1]])
        )
        waiting = {}
        for member in self._members:
            if not member.send(usual):
                self.revive(member, late)
            waiting[member.channel] = member
        answers = []
        while waiting:
            for channel in self._wait(waiting):
                member = waiting.pop(channel)
                packed = member.receive()
                if packed is None:
                    self.revive(member, late)
                    waiting[member.channel] = member
                    continue
                number, arrays = unpack_numbers(packed, n_arrays)
                if number == self._number:
                    answers.append(arrays)
                else:
                    # Of a question whose asker was interrupted.
                    waiting[channel] = member
        return [np.sum(parts, axis=0) for parts in zip(*answers, strict=True)]

    def close(self) -> None:
        """End all processes."""
        for member in self._members:
            member.close()
        self._members = []

    def _wait(self, waiting: dict[Connection, ShardProcess]) -> list[Connection]:
        """Wait for answers and deaths; kill those that are silent for too long."""
        ready = wait([*waiting], self._kind.silence_s)
        if not ready:
            for member in waiting.values():
                member.kill()
        return [channel for channel in waiting if channel in ready]

    def revive(self, member: ShardProcess, letters: Sequence[Letter]) -> None:
        """Replace a process that has died, and let the new one repeat what was done."""
        is_sent = False
        while not is_sent:
            self.n_losses += 1
            if self.n_losses > self._kind.most_losses:
                raise ShardsLostError(self.n_losses)
            member.end()
            member.start()
            is_sent = member.send(letters)
