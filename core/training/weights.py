"""The weights of one boosting run, in one shard of rows or in several.

A round moves them; the stumps of largest edge are found from their sums by code.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core import kernels
from core.arrays import BallotArray, FloatArray, IntArray
from core.kernels import Look, MovedRows
from core.model.hypotheses import Hypothesis
from core.training.ballots import cast_ballots, find_codes
from core.training.histograms import (
    MOST_SUMS,
    Candidates,
    accumulate,
    make_best,
    make_sums,
    merge,
    pick,
    scan,
)
from core.training.shards import Shard, count_quanta

# All weights together count so many powers of two of quanta: after a scaling, at
# least and at most. A sum of twice that is still an int64, and a quantum at the least
# is about a rounding error of the sums that doubles would make.
BITS = 57
MIN_BITS = 54
MAX_BITS = 61

# Weights are given with a sum of 1 but for rounding, which differs with their order.
FIRST_SCALE = 2.0 ** (BITS - 1)


@dataclass(frozen=True)
class Place:
    """Some rows of each shard, and their merged sums by code if these are kept."""

    rows: tuple[IntArray, ...]
    sums: IntArray | None


class Weights:
    """The weights of one boosting run over all its shards.

    The shards have the same cuts and lanes, and all their weights together sum to 1.
    `is_kept`: sums by code follow the weights from round to round. It doesn't pay where
    rounds look at some features only, and takes room. `is_fresh`: the last change of
    weights has to be summed over all rows, as at first, where the quantum had to be
    scaled, and where the change before was not looked at.

    Notes
    -----
    Only ratios of weights count. Of the weights that a hypothesis has right, wrong or
    abstains on, the side of most hence keeps its own, and the others' change relative
    to it: sums by code are added up over the rows that changed alone. Weights are
    doubles; the sums count them in quanta of about 2^-57 of the whole, as integers:
    after any number of rounds they are those of all rows to the bit, so that a run
    that was interrupted only has to repeat `apply`, and shards of the rows give the
    same run.
    """

    def __init__(self, shards: Sequence[Shard], *, is_kept: bool = True) -> None:
        self.shards = shards
        self.binned = shards[0].binned
        self.n_outputs = shards[0].weights.shape[0]
        self._is_kept = is_kept
        self._lanes = self.binned.packing.lanes
        self._n_chunks = max(one.moved.stops.shape[0] for one in shards)
        self._sums = [
            make_sums(self.n_outputs, self._lanes.size, self._n_chunks)
            for _ in shards
            if is_kept
        ]
        self._is_pending = False
        # Rows of weight 0 are held out: nothing that is decided counts them.
        self._n_weights = sum(int(np.count_nonzero(one.weights)) for one in shards)
        nobody = [np.zeros(one.weights.shape, dtype=np.int8) for one in shards]
        self._move(nobody, np.full(3, FIRST_SCALE), True)

    def find_stumps(self, feature_idxs: IntArray) -> Candidates:
        """Find, on some features, the stumps of largest edge over all rows."""
        look = self._look(self.quanta)
        if self._is_kept:
            return self._scan(self._follow(), feature_idxs, look)
        return self._search([one.moved for one in self.shards], feature_idxs, look)

    def find_factors(
        self, ballots: Sequence[BallotArray], feature_idxs: IntArray
    ) -> Candidates:
        """Find the best stumps to multiply with votes, given for each shard.

        Rows on which these abstain have no weight left.
        """
        listed = [
            shard.gather(shard.weights * votes, np.arange(votes.shape[1]))
            for shard, votes in zip(self.shards, ballots, strict=True)
        ]
        look = self._look(sum(count_quanta(one) for one in listed))
        return self._search(listed, feature_idxs, look)

    def find_in(
        self, place: Place, votes: tuple[int, ...], feature_idxs: IntArray
    ) -> Candidates:
        """Find the stumps of largest gain over the votes of a place of a tree."""
        look = self._look(0, np.array(votes, dtype=np.int64))
        if place.sums is not None:
            return self._scan(place.sums, feature_idxs, look)
        return self._search(self._gather(place.rows), feature_idxs, look)

    def everything(self) -> Place:
        """Return the place where all rows are, the root of a tree."""
        rows = tuple(np.arange(shard.binned.n_samples) for shard in self.shards)
        return Place(rows, self._follow() if self._is_kept else None)

    def split(self, place: Place, feature_idx: int, code: int) -> tuple[Place, Place]:
        """Split a place by a stump: what is above its cut, and below.

        Rows without the feature drop out. The rows of the larger side are not summed:
        their sums are those of the place less those of the others.
        """
        is_category = bool(self.binned.is_category[feature_idx])
        sides: list[list[IntArray]] = [[], [], []]
        for shard, rows in zip(self.shards, place.rows, strict=True):
            codes = shard.binned.codes[feature_idx][rows]
            is_above = codes == code if is_category else codes > code
            is_there = codes != kernels.MISSING
            sides[0].append(rows[is_above & is_there])
            sides[1].append(rows[~is_above & is_there])
            sides[2].append(rows[~is_there])
        sums: list[IntArray | None] = [None, None]
        if place.sums is not None:
            sizes = [sum(rows.size for rows in side) for side in sides]
            smaller = int(sizes[1] < sizes[0])
            few = self._sum(self._gather(sides[smaller]), self._lanes, self._n_chunks)
            rest = place.sums - few
            if sizes[2]:
                gone = self._gather(sides[2])
                rest -= self._sum(gone, self._lanes, self._n_chunks)
            sums[smaller], sums[1 - smaller] = few, rest
        above, below = (
            Place(tuple(rows), summed)
            for rows, summed in zip(sides[:2], sums, strict=True)
        )
        return above, below

    def apply(
        self, hypothesis: Hypothesis, alpha: float, codes: tuple[int, ...] | None = None
    ) -> float:
        """Multiply the weights by exp(-alpha y h(x)) and normalise them; return Z.

        `codes` are those of the cuts of its stumps; looked up where unknown.
        """
        codes = codes or find_codes(self.binned, hypothesis)
        ballots = [
            cast_ballots(shard.binned, hypothesis, codes) for shard in self.shards
        ]
        by_shard = [
            shard.count_sides(votes)
            for shard, votes in zip(self.shards, ballots, strict=True)
        ]
        n_wrong, n_right, wrong, right = map(int, sum(by_shard[1:], by_shard[0]))
        quanta = self.quanta
        counts = (n_wrong, self._n_weights - n_wrong - n_right, n_right)
        sides = (wrong, quanta - wrong - right, right)
        # Of equal sides the weights that are right.
        kept = max(reversed(range(3)), key=counts.__getitem__)
        factors = [math.exp(-alpha * (side - kept)) for side in range(3)]
        total = sum(f * side for f, side in zip(factors, sides, strict=True))
        most = total + sum(f * n for f, n in zip(factors, counts, strict=True)) / 2
        is_fresh = not 2.0**MIN_BITS <= total <= most <= 2.0**MAX_BITS
        scale = math.ldexp(1.0, BITS - math.frexp(most)[1]) if is_fresh else 1.0
        self._move(ballots, scale * np.array(factors), is_fresh)
        return total / quanta * math.exp(-alpha * (kept - 1))

    def _move(
        self, ballots: Sequence[BallotArray], factors: FloatArray, is_fresh: bool
    ) -> None:
        # What moved before and was not added yet is found among all rows.
        self.is_fresh = is_fresh or self._is_pending
        self._is_pending = True
        for shard, votes in zip(self.shards, ballots, strict=True):
            shard.move(votes, factors, self.is_fresh)
        self.quanta = sum(count_quanta(shard.moved) for shard in self.shards)

    def _follow(self) -> IntArray:
        """Bring the kept sums up to date; return those of all shards together."""
        if self._is_pending:
            for shard, sums in zip(self.shards, self._sums, strict=True):
                if self.is_fresh:
                    sums[:] = 0
                accumulate(shard.binned, self._lanes, shard.moved, sums)
            self._is_pending = False
        return merge(self._sums)

    def _gather(self, rows_by_shard: Sequence[IntArray]) -> list[MovedRows]:
        """List some rows of each shard with all their quanta."""
        pairs = zip(self.shards, rows_by_shard, strict=True)
        return [shard.gather(shard.weights, rows) for shard, rows in pairs]

    def _sum(
        self, listed: Sequence[MovedRows], lanes: IntArray, n_chunks: int
    ) -> IntArray:
        """Return the merged sums by code of the rows listed of each shard."""
        sums_by_shard = []
        for shard, moved in zip(self.shards, listed, strict=True):
            sums_by_shard.append(make_sums(self.n_outputs, lanes.size, n_chunks))
            accumulate(shard.binned, lanes, moved, sums_by_shard[-1])
        return merge(sums_by_shard)

    def _look(self, quanta: int, votes_before: IntArray | None = None) -> Look:
        is_leaf = votes_before is not None
        if votes_before is None:
            votes_before = np.zeros(self.n_outputs, dtype=np.int64)
        return Look(quanta, float(self.quanta), votes_before, is_leaf)

    def _scan(self, sums: IntArray, feature_idxs: IntArray, look: Look) -> Candidates:
        best = make_best(self.n_outputs, self.binned.n_codes.size)
        scan(self.binned, self._lanes, sums, look, best)
        return pick(best, feature_idxs)

    def _search(
        self, listed: Sequence[MovedRows], feature_idxs: IntArray, look: Look
    ) -> Candidates:
        """Find the best stumps on some features, from the rows listed."""
        best = make_best(self.n_outputs, self.binned.n_codes.size)
        lanes = self.binned.packing.lanes_of(feature_idxs)
        size = max(1, MOST_SUMS // self.n_outputs)
        n_chunks = max(moved.stops.shape[0] for moved in listed)
        for first in range(0, lanes.size, size):
            some = lanes[first : first + size]
            scan(self.binned, some, self._sum(listed, some, n_chunks), look, best)
        return pick(best, feature_idxs)
