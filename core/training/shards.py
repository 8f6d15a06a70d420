"""Shards: some rows of a table with their weights. A table in memory is one shard."""

import numpy as np

from core import kernels
from core.arrays import BallotArray, FloatArray, IntArray
from core.kernels import Change, MovedRows
from core.table.binning import Binned
from core.training.histograms import make_moved

# Below so many weights waking the threads costs more than they bring.
PARALLEL_ROWS = 100_000


class Shard:
    """Some rows of a table with their weights, and a list of the rows that moved.

    `signed_weights` (n_samples, n_outputs): initial weight of each row and class times
    +1 or -1; not mutated. `is_split`: unsigned quanta are asked for, not only signed.
    """

    def __init__(
        self, binned: Binned, signed_weights: FloatArray, *, is_split: bool = True
    ) -> None:
        self.binned = binned
        self.weights = signed_weights.T.copy()
        self.moved = make_moved(*self.weights.shape)
        self._is_split = is_split
        self._room: MovedRows | None = None

    def count_sides(self, ballots: BallotArray) -> IntArray:
        """Return the weights that ballots have wrong and right, then their quanta."""
        n_outputs = self.weights.shape[0]
        sides = np.empty((self.moved.stops.shape[0], n_outputs, 4), dtype=np.int64)
        is_large = self.weights.size >= PARALLEL_ROWS
        count = kernels.count_sides_parallel if is_large else kernels.count_sides
        count(self.weights, ballots, sides)
        totals: IntArray = sides.sum(axis=(0, 1))
        return totals

    def move(self, ballots: BallotArray, factors: FloatArray, is_fresh: bool) -> None:
        """Multiply weights by their side's factor, in place; list those that moved."""
        change = Change(factors, is_fresh, self._is_split)
        is_large = self.weights.size >= PARALLEL_ROWS
        move = kernels.move_parallel if is_large else kernels.move
        move(ballots, change, self.weights, self.moved)

    def gather(self, weights: FloatArray, rows: IntArray) -> MovedRows:
        """List some rows with all their quanta; until the next call."""
        if self._room is None:
            self._room = make_moved(*self.weights.shape)
        n_chunks = -(-rows.size // kernels.CHUNK)
        listed = MovedRows(*(array[:n_chunks] for array in self._room))
        is_large = rows.size * weights.shape[0] >= PARALLEL_ROWS
        gather = kernels.gather_parallel if is_large else kernels.gather
        gather(weights, rows, self._is_split, listed)
        return listed


def count_quanta(moved: MovedRows) -> int:
    """Return the quanta of all rows, also of those that did not move."""
    return int(moved.stops[..., 2].sum())
