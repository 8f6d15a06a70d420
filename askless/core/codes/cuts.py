"""Cut features between their values, or at quantiles of many."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.spread import map_in_threads
from askless.core.table.dataset import MAX_CODES

# Half of the first and the last cut's distance counts as no less, so that its inverse
# is finite.
LEAST_HALF = 1e-300


class ColumnCuts(NamedTuple):
    """The cuts of a feature, as in `Binned`, and its least and greatest value."""

    cuts: FloatArray
    ends: tuple[float, float]


def compute_cuts(
    values: FloatArray,
    weights: FloatArray,
    is_category: BoolArray,
    known: FloatArray,
    sizes: IntArray,
) -> tuple[list[FloatArray], FloatArray]:
    """Return the cuts and the ranges of every feature, as in `CodedColumns`.

    `is_category` (n_features,); `known` and `sizes` are as in
    `askless.core.kernels.ColumnFacts`; a feature of many values has any size above
    `FEW`.
    """
    middles = compute_midpoints(known[:, :-1], known[:, 1:])
    ranges = np.full((sizes.size, 2), np.nan)
    cuts = []
    for idx, size in enumerate(sizes.tolist()):
        is_whole = is_category[idx]
        cuts.append(known[idx, :size] if is_whole else middles[idx, : max(size - 1, 0)])
        if size:
            ranges[idx] = known[idx, 0], known[idx, min(size, kernels.FEW) - 1]
    row_weights = weights if np.ptp(weights) > 0 else None

    def cut_column(idx: int) -> ColumnCuts:
        column = values[:, idx].copy()
        return compute_column_cuts(column, row_weights, is_category=is_category[idx])

    many = np.flatnonzero(sizes > kernels.FEW).tolist()
    spread = map_in_threads if values.shape[0] > kernels.CHUNK else map
    for idx, column in zip(many, spread(cut_column, many), strict=True):
        cuts[idx], ranges[idx] = column
    # Minus zero would be one end or the other by the order of rows.
    return cuts, ranges + 0.0


def compute_column_cuts(
    column: FloatArray, weights: FloatArray | None, *, is_category: bool
) -> ColumnCuts:
    """Return the cuts of one feature; unweighted values are sorted in place."""
    # Sorting puts missing values last.
    if weights is None:
        column.sort()
    else:
        order = np.argsort(column)
        column, weights = column[order], weights[order]
    # NaN is found where the missing values begin.
    present = column[: int(np.searchsorted(column, np.nan))]
    ends = present[0], present[-1]
    if is_category:
        return ColumnCuts(np.unique(present), ends)
    known_weights = None if weights is None else weights[: present.size]
    return ColumnCuts(compute_thresholds(present, known_weights), ends)


def compute_thresholds(
    ordered: FloatArray, weights: FloatArray | None, most: int = MAX_CODES
) -> FloatArray:
    """Return thresholds that split the present values into at most `most` codes.

    `ordered` (n_present,) are finite and ascending, as is what is returned; `weights`
    None: all are equal. Each threshold lies strictly between two neighbouring present
    values, or on the lower one where no double lies between. A value equal to a
    threshold is below it.
    """
    is_lower = ordered[1:] > ordered[:-1]
    # The positions of many rows take eight times the memory of the flags.
    if np.count_nonzero(is_lower) < most:
        lower_idxs = np.flatnonzero(is_lower)
    else:
        lower_idxs = locate_quantiles(ordered, weights, most)
    return compute_midpoints(ordered[lower_idxs], ordered[lower_idxs + 1])


def compute_midpoints(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the middles of pairs; the lower value where no double lies between."""
    middle = lower / 2 + upper / 2
    return np.where((lower <= middle) & (middle < upper), middle, lower)


def locate_quantiles(
    ordered: FloatArray, weights: FloatArray | None, most: int
) -> IntArray:
    """Return the position of the last value equal to each quantile; ascending, unique.

    A quantile on the greatest value counts for the value before it.
    """
    if weights is None:
        # As by running totals, which would be the whole numbers.
        targets = float(ordered.size) * np.arange(1, most) / most
        picks = np.ceil(targets).astype(np.int64) - 1
    else:
        totals = np.cumsum(weights)
        targets = totals[-1] * np.arange(1, most) / most
        picks = np.searchsorted(totals, targets)
    last_idxs = np.searchsorted(ordered, ordered[picks], side="right") - 1
    greatest = np.searchsorted(ordered, ordered[-1]) - 1
    ascending: IntArray = np.minimum(last_idxs, greatest)
    return ascending[np.diff(ascending, prepend=-1) > 0]


def tabulate_cuts(cuts: Sequence[FloatArray]) -> kernels.CutTables:
    """Return the cuts of features as `kernels.encode` searches them."""
    n_features = len(cuts)
    n_cuts = np.array([cut.size for cut in cuts], dtype=np.int64)
    width = 2 << int(n_cuts.max(initial=0)).bit_length()
    padded = np.full((n_features, width), np.inf)
    scales = np.zeros((n_features, 3))
    for row, cut in enumerate(cuts):
        if cut.size:
            padded[row, : cut.size] = cut
            half = max(LEAST_HALF, cut[-1] / 2 - cut[0] / 2)
            scales[row] = cut[0], half, kernels.N_PLACES / half
    firsts = np.empty((n_features, kernels.N_PLACES + 1), np.uint8)
    tables = kernels.CutTables(padded, scales, firsts, np.empty(n_features, np.int64))
    kernels.index_cuts(n_cuts, tables)
    return tables
