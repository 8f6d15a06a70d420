"""The weights of one boosting run and their sums by code, from round to round."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from core import kernels
from core.arrays import BallotArray, FloatArray, IntArray
from core.table.binning import Binned
from core.training.learners.stump import Candidates

# Below so many rows, sums by code, and rows times columns, waking the threads costs
# more than they bring. (At 100,000 rows it pays while threads wait actively, numba's
# default, and costs a tenth where they are told to sleep.)
PARALLEL_ROWS = 100_000
PARALLEL_SUMS = 100_000
PARALLEL_CELLS = 250_000

# All weights together count so many powers of two of units: after a scaling, at
# least and at most. A sum of twice that is still an int64, and a unit at the least is
# about a rounding error of the sums that doubles would make.
BITS = 57
MIN_BITS = 54
MAX_BITS = 61

# Few columns are summed in several parts, so that all cores have the same to do.
FEW_COLUMNS = 64
N_PARTS = 4


@dataclass(frozen=True)
class Moved:
    """The rows whose weight moved, by chunks: the arrays of `kernels.move`.

    `is_split` where a feature has missing values, whose weight is to be known.
    """

    rows: IntArray
    deltas: IntArray
    stops: IntArray
    is_split: bool

    @property
    def arrays(self) -> tuple[IntArray, IntArray, IntArray]:
        """The arrays as the kernels take them."""
        return self.rows, self.deltas, self.stops

    @property
    def n_rows(self) -> int:
        """How many rows moved."""
        ends = self.stops.sum(axis=0)
        return int(ends[0] + self.rows.size - ends[1])

    @property
    def units(self) -> int:
        """Units of all rows, also of those that did not move."""
        return int(self.stops[:, 2].sum())


class Histograms:
    """The weights of one boosting run, and their sums by code for every feature.

    Parameters
    ----------
    binned : Binned
    signed_weights : float64 array, shape (n_samples,)
        Initial weight of each row times its class. Not mutated.
    is_parallel : bool
        Whether all cores take part however little there is to do.

    Attributes
    ----------
    is_fresh : bool
        Whether the last change of weights has to be summed over all rows: at first,
        where the unit had to be scaled, and where the change before was not looked at.

    Notes
    -----
    Only ratios of weights count. Of the rows that a hypothesis has right, wrong or
    abstains on, the largest group hence keeps its weights, and the others' change
    relative to it: sums by code are added up over the rows that changed alone.
    Weights are doubles; the sums count them in units of about 2^-57 of the whole,
    as integers: after any number of rounds they are those of all rows to the bit,
    so that a run that was interrupted only has to repeat `apply`.
    """

    def __init__(
        self, binned: Binned, signed_weights: FloatArray, *, is_parallel: bool = False
    ) -> None:
        self._is_parallel = is_parallel
        n_samples = signed_weights.size
        self._binned = binned
        self._columns = np.arange(binned.packing.starts.size - 1)
        self._sums = make_sums(self._columns.size)
        self._weights = signed_weights.copy()
        self._moved = make_moved(binned)
        self._is_pending = False
        none = np.zeros(n_samples, dtype=np.int8)
        self._move(none, np.full(3, unit_scale(np.abs(signed_weights).sum())), True)

    @property
    def signed_weights(self) -> FloatArray:
        """Weight of each row times its class, the absolute values summing to 1."""
        return self._weights / self._moved.units

    def find_stumps(self) -> Candidates:
        """Find, on every feature, the stump of largest edge; ties to the lowest cut."""
        if self._is_pending:
            if self.is_fresh:
                self._sums[:] = 0
            add(
                self._binned,
                self._columns,
                self._moved,
                self._sums,
                is_parallel=self._is_parallel,
            )
            self._is_pending = False
        units = self._moved.units
        return scan(
            self._binned,
            self._columns,
            self._sums,
            units,
            float(units),
            is_parallel=self._is_parallel,
        )

    def apply(self, ballots: BallotArray, alpha: float) -> float:
        """Multiply the weights by exp(-alpha y h(x)) and normalise them.

        Parameters
        ----------
        ballots : int8 array, shape (n_samples,)
            Vote h(x) of the hypothesis on each row: -1, 0 (it abstains) or 1.
        alpha : float

        Returns
        -------
        float
            The normaliser Z.
        """
        n_wrong, n_right, wrong, right = self._sum_groups(ballots)
        units = self._moved.units
        counts = (n_wrong, self._weights.size - n_wrong - n_right, n_right)
        shares = (wrong, units - wrong - right, right)
        # Of equal groups the rows that are right.
        kept = max(reversed(range(3)), key=counts.__getitem__)
        factors = [math.exp(-alpha * (group - kept)) for group in range(3)]
        total = sum(f * share for f, share in zip(factors, shares, strict=True))
        most = total + sum(f * n for f, n in zip(factors, counts, strict=True)) / 2
        is_fresh = not 2.0**MIN_BITS <= total <= most <= 2.0**MAX_BITS
        scale = unit_scale(most) if is_fresh else 1.0
        self._move(ballots, scale * np.array(factors), is_fresh)
        return total / units * math.exp(-alpha * (kept - 1))

    def _sum_groups(self, ballots: BallotArray) -> list[int]:
        groups = np.empty((self._moved.stops.shape[0], 4), dtype=np.int64)
        is_large = self._is_parallel or ballots.size >= PARALLEL_ROWS
        sum_groups = kernels.sum_groups_parallel if is_large else kernels.sum_groups
        sum_groups(self._weights, ballots, groups)
        return [int(total) for total in groups.sum(axis=0)]

    def _move(self, ballots: BallotArray, factors: FloatArray, is_fresh: bool) -> None:
        # What moved before and was not added yet is found among all rows.
        self.is_fresh = is_fresh or self._is_pending
        self._is_pending = True
        move(
            ballots,
            factors,
            self.is_fresh,
            self._weights,
            self._moved,
            is_parallel=self._is_parallel,
        )


def find_stumps(
    binned: Binned,
    signed_weights: FloatArray,
    feature_idxs: IntArray | None = None,
) -> Candidates:
    """Find, on some features or all, the stump of largest edge.

    Parameters
    ----------
    binned : Binned
    signed_weights : float64 array, shape (n_samples,)
        Weight of each row times its class; the absolute values sum to 1.
    feature_idxs : int64 array, shape (n_wanted,), optional

    Returns
    -------
    Candidates
        Arrays (n_wanted,). Of equal cuts on a feature the lowest.
    """
    if feature_idxs is None:
        feature_idxs = np.arange(binned.n_codes.size)
    total = float(np.abs(signed_weights).sum())
    return search_scratch(
        binned, signed_weights.copy(), total, feature_idxs, make_moved(binned)
    )


def search_scratch(
    binned: Binned,
    weights: FloatArray,
    total: float,
    feature_idxs: IntArray,
    moved: Moved,
) -> Candidates:
    """Do as `find_stumps` with weights of a known total; both are overwritten."""
    scale = unit_scale(total)
    none = np.zeros(weights.size, dtype=np.int8)
    move(none, np.full(3, scale), True, weights, moved)
    columns = binned.packing.column_of[feature_idxs]
    if binned.packing.codes.size:
        columns = np.unique(columns)
    sums = make_sums(columns.size)
    add(binned, columns, moved, sums)
    found = scan(binned, columns, sums, moved.units, scale)
    assert found.votes is not None, "one output"
    return Candidates(
        feature_idxs,
        found.edges[feature_idxs],
        found.cuts[feature_idxs],
        found.presents[feature_idxs],
        found.votes[feature_idxs],
    )


def unit_scale(total: float) -> float:
    """Give the power of two that makes a total of about 2^`BITS`."""
    return math.ldexp(1.0, BITS - math.frexp(total)[1])


def make_sums(n_columns: int) -> IntArray:
    """Make sums by code, all of them 0, as `kernels.add` takes them."""
    n_parts = N_PARTS if n_columns < FEW_COLUMNS else 1
    return np.zeros((n_parts, n_columns, 2, 256), dtype=np.int64)


def make_moved(binned: Binned) -> Moved:
    """Make room for the rows that move."""
    n_samples = binned.codes.shape[1]
    n_chunks = -(-n_samples // kernels.CHUNK)
    shape = (n_chunks, min(n_samples, kernels.CHUNK) + 1)
    return Moved(
        np.empty(shape, dtype=np.int64),
        np.empty(shape, dtype=np.int64),
        np.empty((n_chunks, 3), dtype=np.int64),
        bool(binned.has_missing.any()),
    )


def move(
    ballots: BallotArray,
    factors: FloatArray,
    is_fresh: bool,
    weights: FloatArray,
    moved: Moved,
    *,
    is_parallel: bool = False,
) -> None:
    """Multiply weights by their group's factor, in place, and list those that moved."""
    is_large = is_parallel or weights.size >= PARALLEL_ROWS
    kernel = kernels.move_parallel if is_large else kernels.move
    kernel(ballots, factors, is_fresh, moved.is_split, weights, *moved.arrays)


def add(
    binned: Binned,
    columns: IntArray,
    moved: Moved,
    sums: IntArray,
    *,
    is_parallel: bool = False,
) -> None:
    """Add what moved to the sums by code of some columns, in place."""
    is_large = is_parallel or moved.n_rows * columns.size >= PARALLEL_CELLS
    packing = binned.packing
    kernel = kernels.add_parallel if is_large else kernels.add
    kernel(
        binned.codes,
        packing.codes,
        packing.members,
        packing.starts,
        columns,
        *moved.arrays,
        sums,
    )


def scan(
    binned: Binned,
    columns: IntArray,
    sums: IntArray,
    units: int,
    scale: float,
    *,
    is_parallel: bool = False,
) -> Candidates:
    """Find the best stump on every feature of some columns."""
    n_features = binned.n_codes.size
    edges, presents = np.empty(n_features), np.empty(n_features)
    cuts, votes = np.empty((2, n_features), dtype=np.int64)
    is_large = is_parallel or sums.size >= PARALLEL_SUMS
    kernel = kernels.scan_columns_parallel if is_large else kernels.scan_columns
    kernel(
        sums,
        binned.packing.members,
        binned.packing.starts,
        columns,
        binned.packing.codes.shape[0],
        binned.n_codes,
        binned.is_category,
        binned.has_missing,
        units,
        scale,
        edges,
        cuts,
        votes,
        presents,
    )
    return Candidates(np.arange(n_features), edges, cuts, presents, votes)
