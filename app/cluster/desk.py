"""What the process of a shard does with its orders, however they come."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.cluster.messages import (
    BEAT,
    Begin,
    CodeSource,
    CountAll,
    Letter,
    Order,
    Restore,
    Weigh,
    arrays_of,
    pack_failure,
    pack_numbers,
)
from core.arrays import CodeArray, FloatArray, IntArray
from core.table.binning import Binned
from core.training.questions import ShardQuestion
from core.training.shards import Shard


@dataclass
class ShardDesk:
    """What is known of a shard, and the orders that are carried out.

    `file_number` is that of a file that is handed over; `send` takes what is answered.
    """

    send: Callable[[bytes], None]
    file_number: int | None = None
    codes: CodeArray | None = None
    rows: tuple[Binned, FloatArray] | None = None
    shard: Shard | None = None

    def take(self, packed: bytes) -> bool:
        """Carry an order out; False where that can't be done, which is answered."""
        letter: Letter = pickle.loads(packed)
        try:
            arrays = self.obey(letter.order)
        except ConnectionError:
            # Nobody is there to be told.
            raise
        except Exception as error:  # Told to who gave the order.
            self.send(pack_failure(error))
            return False
        if arrays:
            self.send(pack_numbers(letter.number, arrays))
        return True

    def obey(self, order: Order) -> list[IntArray]:
        """Carry an order out; return what is to be answered, if anything."""
        if isinstance(order, CodeSource):
            beat = pack_numbers(BEAT)
            self.codes = order.read(self.file_number, lambda: self.send(beat))
            return []
        if isinstance(order, Weigh):
            assert self.codes is not None, "codes come first"
            # The rows of the part before are let go of.
            self.rows = self.shard = None
            self.rows = order.heads.lay(self.codes), order.signed_weights
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
