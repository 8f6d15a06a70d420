"""Keep the row weights of one boosting run, wherever its shards are.

Each round changes weights; stumps of largest edge follow from their sums by code.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from askless.core import kernels
from askless.core.arrays import IntArray
from askless.core.kernels import Cut, Look
from askless.core.model.hypotheses import Hypothesis, Stump
from askless.core.training.shards.histograms import (
    MOST_SUMS,
    Candidates,
    make_best_stumps,
    pick_candidates,
    scan_sums,
)
from askless.core.training.shards.questions import (
    Ask,
    FactorSums,
    PlaceSplit,
    PlaceSums,
    ShardAnswer,
    ShardQuestion,
    Sides,
    Sums,
    WeightStep,
)
from askless.core.training.shards.shards import Shards

# All weights together are 2^BITS quanta after a scaling, later between 2^MIN_BITS and
# 2^MAX_BITS. A sum of twice that is still an int64, and even the largest quantum is
# about a rounding error of the sums that doubles would make.
BITS = 57
MIN_BITS = 54
MAX_BITS = 61

# Weights are given with a sum of 1 but for rounding, which differs with their order.
FIRST_SCALE = 2.0 ** (BITS - 1)


@dataclass(frozen=True)
class Place:
    """A place of a tree by its number, and its sums by code if these are kept."""

    number: int
    sums: IntArray | None


@dataclass(frozen=True)
class SeenSums:
    """Sums by code of all rows, and the lanes that they are of, ascending."""

    lanes: IntArray
    sums: IntArray
    is_all: bool = False

    def place_of(self, lane: int) -> int:
        """Return the position of a lane among the sums, -1 where it has none."""
        if self.is_all:
            return lane
        place = int(self.lanes.searchsorted(lane))
        return place if lane in self.lanes[place : place + 1] else -1


@dataclass(frozen=True)
class KnownFeature:
    """Constants of a feature in a run: counts by code of its lane, and its digit."""

    counts: IntArray
    lane: int
    n_present: int
    stride: int
    radix: int


# Rows wrong, abstained on and right; then their quanta.
Triples = tuple[tuple[int, int, int], tuple[int, int, int]]


class Weights:
    """The weights of one boosting run over all its shards.

    The shards have the same cuts and lanes, and all their weights together sum to 1.
    `quanta` are those of all weights, and `is_fresh` whether the last change scaled
    the quantum, as the first does; the sums then are taken over all rows.

    Notes
    -----
    Only ratios of weights count. Of the weights that a hypothesis has right, wrong or
    abstains on, the side of most hence keeps its own, and the others' change relative
    to it: sums by code are added up over the rows that changed alone. Weights are
    doubles; the sums count them in quanta of about 2^-57 of the whole, as integers:
    after any number of rounds they are those of all rows to the bit, so that a run
    that was interrupted only has to repeat `apply`, and shards of the rows give the
    same run.

    A round of stumps asks the shards once: a change of weights waits for the next
    search, and the sides of a stump follow from the sums of the search before (right
    less wrong is its edge, both together are all but what is missing). A round of trees
    asks once more for each split, and once for the sides; one of products, once for
    each factor that is searched, and for the sides. Where sums are not kept, each
    search in a place of a tree is one more question.
    """

    def __init__(self, shards: Shards) -> None:
        self.shards = shards
        self.binned = shards.binned
        self.n_outputs = shards.n_outputs
        self.quanta = 0
        self.is_fresh = True
        self._no_votes = np.zeros(self.n_outputs, dtype=np.int64)
        self._n_places = 1
        self._n_lanes = self.binned.packing.lanes.size
        no_sums = np.zeros((self.n_outputs, 1, 1, 2, 256), dtype=np.int64)
        self._nothing = SeenSums(np.empty(0, dtype=np.int64), no_sums)
        self._seen = self._nothing
        self._counts: dict[int, IntArray] = {}
        self._known: dict[int, KnownFeature] = {}
        self._step: WeightStep | None = WeightStep(
            None, (), (FIRST_SCALE,) * 3, is_fresh=True
        )

    def search_stumps(self, feature_idxs: IntArray) -> Candidates:
        """Return the stumps of largest edge over all rows, one for each feature."""
        if self.shards.is_kept:
            sums = self._get_kept_sums()
            return self._scan(sums, feature_idxs, self._make_look(self.quanta))
        return self._search_by_lanes(self._sum_lanes, feature_idxs)

    def search_factors(
        self, hypothesis: Hypothesis, codes: tuple[int, ...], feature_idxs: IntArray
    ) -> Candidates:
        """Return the best stumps to multiply with a hypothesis, one for each feature.

        Rows on which it abstains have no weight.
        """

        def sum_lanes(lanes: IntArray) -> tuple[IntArray, Look]:
            answer = self._ask_shards(FactorSums(hypothesis, codes, lanes))
            return answer.sums, self._make_look(int(answer.numbers[0]))

        return self._search_by_lanes(sum_lanes, feature_idxs)

    def search_splits(
        self, place: Place, votes: tuple[int, ...], feature_idxs: IntArray
    ) -> Candidates:
        """Return the stumps of largest gain over the votes of a place of a tree.

        There is one for each feature; `votes` (n_outputs,) are those of the place.
        """
        before = np.array(votes, dtype=np.int64)
        if place.sums is not None:
            return self._scan(place.sums, feature_idxs, self._make_look(0, before))

        def sum_lanes(lanes: IntArray) -> tuple[IntArray, Look]:
            sums = self._ask_shards(PlaceSums(place.number, lanes)).sums
            return sums, self._make_look(0, before)

        return self._search_by_lanes(sum_lanes, feature_idxs)

    def root_place(self) -> Place:
        """Start a tree; return the place of its root, where all rows are."""
        self._n_places = 1
        return Place(0, self._get_kept_sums() if self.shards.is_kept else None)

    def split(self, place: Place, feature_idx: int, code: int) -> tuple[Place, Place]:
        """Split a place by a stump into two; rows without the feature drop out."""
        sums = self._ask_shards(PlaceSplit(place.number, feature_idx, code)).sums
        above, below = (None, None) if place.sums is None else sums
        number = self._n_places
        self._n_places += 2
        return Place(number, above), Place(number + 1, below)

    def apply(
        self, hypothesis: Hypothesis, alpha: float, codes: tuple[int, ...] | None = None
    ) -> float:
        """Multiply the weights by exp(-alpha y h(x)) and normalise them; return Z.

        `codes` are those of the cuts of its stumps; None: they are looked up.
        """
        codes = codes or hypothesis.cut_codes(self.binned)
        counts, sides = self._count_sides(hypothesis, codes)
        # The side of most weights keeps them; of equal ones those that are right: `max`
        # takes the first of equals, hence the reversed order.
        largest_side = max(reversed(range(3)), key=counts.__getitem__)
        factors = [math.exp(-alpha * (side - largest_side)) for side in range(3)]
        total = sum(f * side for f, side in zip(factors, sides, strict=True))
        most = total + sum(f * n for f, n in zip(factors, counts, strict=True)) / 2
        self.is_fresh = not 2.0**MIN_BITS <= total <= most <= 2.0**MAX_BITS
        scale = math.ldexp(1.0, BITS - math.frexp(most)[1]) if self.is_fresh else 1.0
        wrong, none, right = (scale * factor for factor in factors)
        self._step = WeightStep(hypothesis, codes, (wrong, none, right), self.is_fresh)
        self._seen = self._nothing
        return total / self.quanta * math.exp(-alpha * (largest_side - 1))

    def _count_sides(self, hypothesis: Hypothesis, codes: tuple[int, ...]) -> Triples:
        """Return rows and quanta that are wrong, abstained on and right."""
        stump = hypothesis.sole_stump
        if stump is not None:
            n_wrong, n_right, wrong, right = self._count_stump_sides(stump, codes)
        else:
            asked = self._ask_shards(Sides(hypothesis, codes))
            n_wrong, n_right, wrong, right = asked.numbers.tolist()
        n_none = self.shards.n_weighted - n_wrong - n_right
        return (n_wrong, n_none, n_right), (wrong, self.quanta - wrong - right, right)

    def _count_stump_sides(
        self, stump: Stump, codes: tuple[int, ...]
    ) -> tuple[int, int, int, int]:
        """Return rows and quanta that a stump has wrong and right.

        Rows are counted by what they weighed at first, which is asked for once: later
        some weights may have become 0.
        """
        known = self._known.get(stump.feature_idx)
        known = known or self._learn_feature(stump.feature_idx)
        place = self._seen.place_of(known.lane)
        form = known.n_present, known.stride, known.radix
        cut = Cut(codes[0], stump.is_category, max(place, 0), *form)
        sides = np.empty(4, dtype=np.int64)
        sums, votes = self._seen.sums, stump.ballots
        kernels.compute_sides(sums, known.counts, cut, votes, sides)
        n_wrong, n_right, edge, missing = sides.tolist()
        if place < 0:
            asked = self._ask_shards(Sides(stump, codes))
            return n_wrong, n_right, *asked.numbers.tolist()[2:]
        present = self.quanta - missing
        return n_wrong, n_right, (present - edge) // 2, (present + edge) // 2

    def _learn_feature(self, feature_idx: int) -> KnownFeature:
        """Ask the shards for the constants of a feature, and remember them."""
        lane = int(self.binned.packing.lane_of[feature_idx])
        if lane not in self._counts:
            self._counts[lane] = self.shards.count(lane)
        known = KnownFeature(
            self._counts[lane],
            lane,
            int(self.binned.n_codes[feature_idx]),
            *self.binned.digit_of(feature_idx),
        )
        self._known[feature_idx] = known
        return known

    def _ask_shards(self, ask: Ask) -> ShardAnswer:
        """Ask all shards, which first apply the step that waits."""
        answer = self.shards.ask(ShardQuestion(self._step, ask))
        self._step, self.quanta = None, answer.quanta
        return answer

    def _get_kept_sums(self) -> IntArray:
        """Return the sums of all rows on all lanes, which the shards keep."""
        if self._seen is self._nothing:
            self._sum_lanes(self.binned.packing.lanes)
        return self._seen.sums

    def _sum_lanes(self, lanes: IntArray) -> tuple[IntArray, Look]:
        """Return the sums of all rows on some lanes, and remember them."""
        sums = self._ask_shards(Sums(lanes)).sums
        self._seen = SeenSums(lanes, sums, lanes.size == self._n_lanes)
        return self._seen.sums, self._make_look(self.quanta)

    def _make_look(self, quanta: int, votes_before: IntArray | None = None) -> Look:
        is_leaf = votes_before is not None
        votes = self._no_votes if votes_before is None else votes_before
        return Look(quanta, float(self.quanta), votes, is_leaf)

    def _scan(self, sums: IntArray, feature_idxs: IntArray, look: Look) -> Candidates:
        best = make_best_stumps(self.n_outputs, self.binned.n_codes.size)
        scan_sums(self.binned, self.binned.packing.lanes, sums, look, best)
        return pick_candidates(best, feature_idxs)

    def _search_by_lanes(
        self,
        sum_lanes: Callable[[IntArray], tuple[IntArray, Look]],
        feature_idxs: IntArray,
    ) -> Candidates:
        """Return the best stumps on some features, from a few lanes at a time."""
        best = make_best_stumps(self.n_outputs, self.binned.n_codes.size)
        lanes = self.binned.packing.lanes_of(feature_idxs)
        size = max(1, MOST_SUMS // self.n_outputs)
        for first in range(0, lanes.size, size):
            some = lanes[first : first + size]
            sums, look = sum_lanes(some)
            scan_sums(self.binned, some, sums, look, best)
        return pick_candidates(best, feature_idxs)
