"""Sums of quanta by code: of rows, merged over shards, scanned for stumps.

Costs play no part here: the rule decides which of the stumps is bought.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askless.core import kernels
from askless.core.arrays import BallotArray, FloatArray, IntArray
from askless.core.codes.binning import Binned
from askless.core.kernels import Best, Look, MovedRows

# Below so many sums by code, and rows times lanes, waking the threads costs more than
# they bring. (It pays while threads wait actively, numba's default.)
PARALLEL_SUMS = 50_000
PARALLEL_CELLS = 250_000

# Few lanes are summed in several turns, so that all cores have equal work.
FEW_LANES = 64
N_TURNS = 4

# Sums computed anew are computed for at most so many lanes times outputs at a time.
MOST_SUMS = 2**16


@dataclass(frozen=True)
class Candidates:
    """The best stump on each of some features; all arrays (n_candidates, ...).

    As in `askless.core.kernels.Best`. `edges` are gamma >= 0 (both polarities are
    searched), 0 where a feature has no stump; in a tree the gain over the vote so far.
    """

    feature_idxs: IntArray
    edges: FloatArray
    cuts: IntArray
    votes: BallotArray
    presents: FloatArray


def make_empty_sums(n_outputs: int, n_lanes: int, n_chunks: int) -> IntArray:
    """Return sums by code, all of them 0, as `kernels.add_moved_rows` takes them."""
    n_turns = min(N_TURNS, max(n_chunks, 1)) if n_outputs * n_lanes < FEW_LANES else 1
    return np.zeros((n_outputs, n_turns, n_lanes, 2, 256), dtype=np.int64)


def make_moved_rows(n_outputs: int, n_samples: int) -> MovedRows:
    """Return uninitialised arrays for the rows whose weights change."""
    n_chunks = -(-n_samples // kernels.CHUNK)
    shape = (n_chunks, n_outputs, min(n_samples, kernels.CHUNK) + 1)
    return MovedRows(
        np.empty(shape, dtype=np.uint32),
        np.empty(shape, dtype=np.int64),
        np.empty((n_chunks, n_outputs, 3), dtype=np.int64),
    )


def make_best_stumps(n_outputs: int, n_features: int) -> Best:
    """Return uninitialised arrays for the best stump on every feature."""
    return Best(
        np.empty(n_features),
        np.empty(n_features, dtype=np.int64),
        np.empty((n_features, n_outputs), dtype=np.int8),
        np.empty(n_features),
    )


def add_rows_to_sums(
    binned: Binned, lanes: IntArray, moved: MovedRows, sums: IntArray
) -> None:
    """Add the rows that moved to the sums by code of some lanes, in place."""
    is_large = (
        moved.rows.size * lanes.size >= PARALLEL_CELLS
        and count_listed(moved) * lanes.size >= PARALLEL_CELLS
    )
    add = kernels.add_moved_rows_parallel if is_large else kernels.add_moved_rows
    add(binned.coded, lanes, moved, sums)


def count_listed(moved: MovedRows) -> int:
    """Return how many rows are listed, summed over the outputs."""
    # One list ends at stops[0] from the left, the other begins at stops[1].
    ends = moved.stops.sum(axis=(0, 1))
    return int(ends[0] + moved.rows.size - ends[1])


def merge_sums(sums_by_shard: Sequence[IntArray]) -> IntArray:
    """Return the sums of some shards added up, over all their turns too.

    They are as `add_rows_to_sums` makes them, or empty.
    """
    if not sums_by_shard[0].size:
        return sums_by_shard[0]
    joined = [sums.sum(axis=-4, keepdims=True) for sums in sums_by_shard]
    merged: IntArray = np.sum(joined, axis=0)
    return merged


def scan_sums(
    binned: Binned, lanes: IntArray, sums: IntArray, look: Look, best: Best
) -> None:
    """Find the best stump on every feature of some lanes, regardless of costs.

    `best` is filled in place, and left as it is for the features of other lanes.

    Notes
    -----
    The edge of a stump with the best votes is sum_l |sum_i w_il y_il phi(x_i)| (Kegl
    and Busa-Fekete 2009, eq. 6 and 7). Missing values abstain, phi = 0. A class that
    no vote helps is voted against. The lowest of equally good cuts is taken.
    """
    kernel = kernels.scan_parallel if sums.size >= PARALLEL_SUMS else kernels.scan
    kernel(sums, binned.coded, lanes, look, best)


def pick_candidates(best: Best, feature_idxs: IntArray) -> Candidates:
    """Return the best stumps on some features, their positions ascending."""
    # Of all features nothing is copied.
    is_all = feature_idxs.size == best.edges.size
    some: IntArray | slice = slice(None) if is_all else feature_idxs
    edges, cuts = best.edges[some], best.cuts[some]
    return Candidates(feature_idxs, edges, cuts, best.votes[some], best.presents[some])
