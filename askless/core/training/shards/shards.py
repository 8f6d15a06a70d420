"""Shards: some rows of a table with their weights. A table in memory is one shard.

A shard only carries out orders; decisions that need all rows are made in `weights`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from askless.core import kernels
from askless.core.arrays import BallotArray, CodeArray, FloatArray, IntArray
from askless.core.codes.binning import Binned
from askless.core.kernels import Change, MovedRows
from askless.core.model.hypotheses import Hypothesis
from askless.core.training.shards.histograms import (
    add_rows_to_sums,
    make_empty_sums,
    make_moved_rows,
    merge_sums,
)
from askless.core.training.shards.questions import (
    NO_NUMBERS,
    FactorSums,
    PlaceSplit,
    PlaceSums,
    ShardAnswer,
    ShardQuestion,
    Sides,
    Sums,
    WeightStep,
)

# Below so many weights waking the threads costs more than they bring.
PARALLEL_ROWS = 100_000

# Of the positive class, of the negative one, and of no weight; as `count_classes` says.
NO_CLASS = 2


class Shards(Protocol):
    """All shards of a run, wherever they are.

    `binned` has the cuts and lanes of all, its rows are not looked at; `n_weighted`
    counts the weights that are not 0 at first. `is_kept`: shards keep sums by code
    from round to round.
    """

    binned: Binned
    n_outputs: int
    n_weighted: int
    is_kept: bool

    def ask(self, question: ShardQuestion) -> ShardAnswer:
        """Ask every shard; return their answers added up."""

    def count(self, lane: int) -> IntArray:
        """Return how many weights are not 0 at first, by output, class and code."""


@dataclass(frozen=True)
class LeafRows:
    """The rows of a shard in one leaf of a tree, and their sums by code if kept."""

    rows: IntArray
    sums: IntArray | None


class Shard:
    """Some rows of a table with their weights, and a list of the rows that moved.

    `signed_weights` (n_samples, n_outputs): initial weight of each row and class times
    +1 or -1; not mutated. `is_split`: unsigned quanta are asked for, not only signed.
    `is_kept`: sums by code follow the weights from round to round. It doesn't pay where
    rounds look at some features only, and takes room.
    """

    def __init__(
        self,
        binned: Binned,
        signed_weights: FloatArray,
        *,
        is_split: bool = True,
        is_kept: bool = True,
    ) -> None:
        self.binned = binned
        self.weights = signed_weights.T.copy()
        self.moved = make_moved_rows(*self.weights.shape)
        self.places: list[LeafRows] = []
        self._classes = classify_signs(self.weights)
        self.is_split = is_split
        self._sums = self._make_sums(binned.packing.lanes) if is_kept else None
        # What moved before and was not added yet is found among all rows.
        self._is_pending = False
        self._room: MovedRows | None = None
        self._cast: tuple[tuple[Hypothesis, tuple[int, ...]], BallotArray] | None = None

    @property
    def n_weighted(self) -> int:
        """Number of weights that are not 0 at first."""
        return int(np.count_nonzero(self._classes < NO_CLASS))

    def count(self, lane: int) -> IntArray:
        """Return how many weights are not 0 at first, by output, class and code."""
        counts = np.empty((self.weights.shape[0], 2, 256), dtype=np.int64)
        kernels.count_classes(self.binned.codes_of(lane), self._classes, counts)
        return counts

    def answer(self, question: ShardQuestion) -> ShardAnswer:
        """Apply the question's step, if it has one; return the answer.

        The arrays of the answer are valid until the next question.
        """
        if question.step is not None:
            self.apply_step(question.step)
        ask, numbers, sums = question.ask, NO_NUMBERS, NO_NUMBERS
        if isinstance(ask, Sums):
            sums = self.sum_all_rows(ask.lanes)
        elif isinstance(ask, Sides):
            numbers = self.count_sides(self.votes_on(ask.hypothesis, ask.codes))
        elif isinstance(ask, PlaceSplit):
            sums = self.split(ask)
        elif isinstance(ask, PlaceSums):
            rows = self.place(ask.place).rows
            sums = self.sum(self.gather(self.weights, rows), ask.lanes)
        else:
            listed = self.multiply_by_votes(ask)
            numbers = np.array([count_quanta(listed)])
            sums = self.sum(listed, ask.lanes)
        return ShardAnswer(count_quanta(self.moved), numbers, sums)

    def apply_step(self, step: WeightStep) -> None:
        """Multiply weights by their side's factor, in place; list the changed."""
        if step.hypothesis is None:
            ballots = np.zeros(self.weights.shape, dtype=np.int8)
        else:
            ballots = self.votes_on(step.hypothesis, step.codes)
        is_fresh = step.is_fresh or self._is_pending
        change = Change(np.array(step.factors), is_fresh, self.is_split)
        is_large = self.weights.size >= PARALLEL_ROWS
        move = kernels.move_weights_parallel if is_large else kernels.move_weights
        move(ballots, change, self.weights, self.moved)
        if is_fresh and self._sums is not None:
            self._sums[:] = 0
        self._is_pending = True
        self.places = []

    def votes_on(self, hypothesis: Hypothesis, codes: tuple[int, ...]) -> BallotArray:
        """Return the votes of a hypothesis on every row; the last are remembered."""
        # A round asks for the same votes first for sides, then for the step.
        key = hypothesis, codes
        if self._cast is None or self._cast[0] != key:
            self._cast = key, hypothesis.votes_on(self.binned, codes)
        return self._cast[1]

    def count_sides(self, ballots: BallotArray) -> IntArray:
        """Return number and quanta of the weights that ballots have wrong and right."""
        n_outputs = self.weights.shape[0]
        sides = np.empty((self.moved.stops.shape[0], n_outputs, 4), dtype=np.int64)
        is_large = self.weights.size >= PARALLEL_ROWS
        count = kernels.count_sides_parallel if is_large else kernels.count_sides
        count(self.weights, ballots, sides)
        totals: IntArray = sides.sum(axis=(0, 1))
        return totals

    def sum_all_rows(self, lanes: IntArray) -> IntArray:
        """Return the cached sums by code of all rows, updated by the moved rows."""
        if self._sums is None:
            return self.sum(self.moved, lanes)
        if self._is_pending:
            add_rows_to_sums(
                self.binned, self.binned.packing.lanes, self.moved, self._sums
            )
            self._is_pending = False
        return self._sums

    def place(self, number: int) -> LeafRows:
        """Return the rows of a place of a tree by its number; 0 is all rows."""
        # The first question about a tree makes its root.
        if not self.places:
            sums = None if self._sums is None else self.sum_all_rows(NO_NUMBERS)
            self.places.append(LeafRows(np.arange(self.binned.n_samples), sums))
        return self.places[number]

    def split(self, split: PlaceSplit) -> IntArray:
        """Split a place by a stump: what is above its cut, and below.

        Returns the sums by code of both sides, (2, ...), if they are kept. Rows without
        the feature drop out. The rows of the larger side are not summed: their sums are
        those of the place less those of the others.
        """
        place = self.place(split.place)
        is_category = bool(self.binned.is_category[split.feature_idx])
        codes = self.binned.codes[split.feature_idx][place.rows]
        is_above = codes == split.code if is_category else codes > split.code
        is_there = codes != kernels.MISSING
        rows = place.rows[is_above & is_there], place.rows[~is_above & is_there]
        if place.sums is None:
            self.places += [LeafRows(rows[0], None), LeafRows(rows[1], None)]
            return NO_NUMBERS
        lanes = self.binned.packing.lanes
        smaller = int(rows[1].size < rows[0].size)
        sides = np.empty((2, *place.sums.shape), dtype=np.int64)
        few = sides[smaller]
        few[:] = 0
        add_rows_to_sums(
            self.binned, lanes, self.gather(self.weights, rows[smaller]), few
        )
        rest = np.subtract(place.sums, few, out=sides[1 - smaller])
        if not is_there.all():
            gone = self.gather(self.weights, place.rows[~is_there])
            rest -= self.sum(gone, lanes)
        self.places += [LeafRows(rows[0], sides[0]), LeafRows(rows[1], sides[1])]
        return sides

    def multiply_by_votes(self, factor: FactorSums) -> MovedRows:
        """List all rows with weights times a hypothesis' votes; 0 if it abstains."""
        ballots = self.votes_on(factor.hypothesis, factor.codes)
        return self.gather(self.weights * ballots, np.arange(ballots.shape[1]))

    def sum(self, listed: MovedRows, lanes: IntArray) -> IntArray:
        """Return the sums by code of some lanes over the rows listed."""
        sums = self._make_sums(lanes)
        add_rows_to_sums(self.binned, lanes, listed, sums)
        return sums

    def gather(self, weights: FloatArray, rows: IntArray) -> MovedRows:
        """List some rows with all their quanta; valid until the next call."""
        if self._room is None:
            self._room = make_moved_rows(*self.weights.shape)
        chunks = slice(-(-rows.size // kernels.CHUNK))
        room = self._room
        listed = MovedRows(room.rows[chunks], room.deltas[chunks], room.stops[chunks])
        is_large = rows.size * weights.shape[0] >= PARALLEL_ROWS
        gather = kernels.gather_rows_parallel if is_large else kernels.gather_rows
        gather(weights, rows, self.is_split, listed)
        return listed

    def _make_sums(self, lanes: IntArray) -> IntArray:
        n_chunks = self.moved.stops.shape[0]
        return make_empty_sums(self.weights.shape[0], lanes.size, n_chunks)


class LocalShards:
    """Shards in this process; see `Shards`."""

    def __init__(self, members: Sequence[Shard], *, is_kept: bool) -> None:
        self.members = members
        self.binned = members[0].binned
        self.n_outputs = members[0].weights.shape[0]
        self.n_weighted = sum(shard.n_weighted for shard in members)
        self.is_kept = is_kept

    def ask(self, question: ShardQuestion) -> ShardAnswer:
        """Ask one shard after the other."""
        answers = [shard.answer(question) for shard in self.members]
        return answers[0] if len(answers) == 1 else add_answers(answers)

    def count(self, lane: int) -> IntArray:
        """Add up the counts of all shards."""
        counts = self.members[0].count(lane)
        for shard in self.members[1:]:
            counts += shard.count(lane)
        return counts


def add_answers(answers: Sequence[ShardAnswer]) -> ShardAnswer:
    """Return the answers of several shards together; whole numbers, so in any order."""
    return ShardAnswer(
        sum(answer.quanta for answer in answers),
        np.sum([answer.numbers for answer in answers], axis=0),
        merge_sums([answer.sums for answer in answers]),
    )


def classify_signs(weights: FloatArray) -> CodeArray:
    """Return the class of each weight: 0 positive, 1 negative, 2 no weight."""
    classes = (weights < 0.0).view(np.uint8)
    classes[weights == 0.0] = NO_CLASS
    return classes


def count_quanta(moved: MovedRows) -> int:
    """Return the quanta of all rows, also of those that did not move."""
    return int(np.add.reduce(moved.stops[..., 2], axis=None))
