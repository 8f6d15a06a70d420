"""The process of one shard: it owns its rows and weights, and answers in turn.

It ends with its coordinator, however that ends.
"""

import os
import pickle
import signal
import sys
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np

from app.cluster.handover import Handover, take_over
from app.cluster.messages import (
    Begin,
    CountAll,
    Letter,
    Order,
    Restore,
    arrays_of,
    pack_numbers,
)
from core.arrays import FloatArray, IntArray
from core.table.binning import Binned
from core.training.questions import ShardQuestion
from core.training.shards import Shard

PARENT_S = 0.25


@dataclass
class ShardDesk:
    """What a process knows of its shard, and the orders that it carries out."""

    file_number: int
    rows: tuple[Binned, FloatArray] | None = None
    shard: Shard | None = None

    def obey(self, order: Order) -> list[IntArray]:
        """Carry an order out; return what is to be answered, if anything."""
        if isinstance(order, Handover):
            self.rows = take_over(order, self.file_number)
            return []
        if isinstance(order, Begin):
            assert self.rows is not None, "rows are handed over first"
            split, kept = order.is_split, order.is_kept
            self.shard = Shard(*self.rows, is_split=split, is_kept=kept)
            return []
        assert self.shard is not None, "a run begins first"
        if isinstance(order, Restore):
            self.restore(self.shard, order)
            return []
        if isinstance(order, CountAll):
            n_features = self.shard.binned.n_codes.size
            counts = [self.shard.count(idx).ravel() for idx in range(n_features)]
            return [np.array([self.shard.n_weighted]), np.concatenate(counts)]
        return arrays_of(self.shard.answer(order), order.ask, self.shard)

    def restore(self, shard: Shard, order: Restore) -> None:
        """Repeat what was done; the answers were given."""
        for step in order.steps:
            shard.take(step)
        for split in order.splits:
            shard.answer(ShardQuestion(None, split))


def obey_all(channel: Connection, file_number: int) -> None:
    """Carry out order after order, until the coordinator has gone."""
    desk = ShardDesk(file_number)
    while True:
        try:
            letter: Letter = pickle.loads(channel.recv_bytes())
            arrays = desk.obey(letter.order)
            if arrays:
                channel.send_bytes(pack_numbers(letter.number, arrays))
        except (EOFError, ConnectionError):
            return


def end_with(parent_pid: int) -> None:
    """End as soon as the coordinator has, also in the midst of an order."""
    ended = threading.Event()

    def watch() -> None:
        while os.getppid() == parent_pid:
            ended.wait(PARENT_S)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def be_shard(channel_number: int, file_number: int, parent_pid: int) -> None:
    """Be the process of a shard."""
    # Ctrl+C is sent to all processes of a terminal; it is the coordinator that acts.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent_pid)
    obey_all(Connection(channel_number), file_number)


if __name__ == "__main__":
    be_shard(*map(int, sys.argv[1:]))
