"""Carry out the orders that the process of a shard receives."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from askless.app.cluster.messages import (
    BEAT,
    Begin,
    CodeSource,
    CountAll,
    Letter,
    Order,
    Restore,
    Weigh,
    answer_to_arrays,
    pack_arrays,
    pack_failure,
)
from askless.core.arrays import CodeArray, FloatArray, IntArray
from askless.core.codes.binning import Binned
from askless.core.training.shards.questions import ShardQuestion
from askless.core.training.shards.shards import Shard


@dataclass
class ShardDesk:
    """A shard, and the orders that it carries out.

    `send` sends an answer; `file_number` is the descriptor of a file with its codes.
    """

    send: Callable[[bytes], None]
    file_number: int | None = None
    codes: CodeArray | None = None
    rows: tuple[Binned, FloatArray] | None = None
    shard: Shard | None = None

    def handle_orders(self, receive: Callable[[], bytes]) -> NoReturn:
        """Carry out orders until `receive` or `send` raises that the line is closed.

        An order that fails is answered with its failure, and so is every later one. The
        line stays open, since a line that closes under the next order is a death.
        """
        failure = None
        while True:
            letter: Letter = pickle.loads(receive())
            if failure is None:
                try:
                    arrays = self.execute(letter.order)
                except ConnectionError:
                    # Nobody is there to hear of it.
                    raise
                except Exception as error:  # It is raised where the order was given.
                    failure = pack_failure(error)
            if failure is not None:
                self.send(failure)
            elif arrays:
                self.send(pack_arrays(letter.number, arrays))

    def execute(self, order: Order) -> list[IntArray]:
        """Carry out an order; return its answer's arrays, [] if it has none."""
        if isinstance(order, CodeSource):
            beat = pack_arrays(BEAT)
            self.codes = order.read(self.file_number, lambda: self.send(beat))
            return []
        if isinstance(order, Weigh):
            assert self.codes is not None, "codes come first"
            # The rows of the part before are freed first.
            self.rows = self.shard = None
            self.rows = order.heads.with_codes(self.codes), order.signed_weights
            return []
        if isinstance(order, Begin):
            assert self.rows is not None, "rows have weights first"
            split, kept = order.is_split, order.is_kept
            self.shard = Shard(*self.rows, is_split=split, is_kept=kept)
            return []
        assert self.shard is not None, "a run begins first"
        if isinstance(order, Restore):
            self.restore(self.shard, order)
            return []
        if isinstance(order, CountAll):
            lanes = self.shard.binned.packing.lanes.tolist()
            counts = [self.shard.count(lane).ravel() for lane in lanes]
            return [np.array([self.shard.n_weighted]), np.concatenate(counts)]
        return answer_to_arrays(self.shard.answer(order), order.ask, self.shard)

    def restore(self, shard: Shard, order: Restore) -> None:
        """Repeat what a lost shard did; its answers were given already."""
        for step in order.steps:
            shard.apply_step(step)
        for split in order.splits:
            shard.answer(ShardQuestion(None, split))
