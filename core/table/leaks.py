"""Columns that say nearly all of the target by themselves: leaks, most often."""

import numpy as np

from core.arrays import FloatArray, IntArray

# Rows that are looked at, evenly spread.
MAX_ROWS = 20_000
# Of a number, values per bin, at least.
ROWS_PER_BIN = 20
MAX_BINS = 254
# A class with fewer rows is ordered by anything.
LEAST_ROWS = 20


def score_column(values: FloatArray, targets: IntArray, n_classes: int) -> float:
    """Return what a column alone says of the target, from 0 (nothing) to 1 (all).

    Parameters
    ----------
    values : float64 array, shape (n_samples,)
        Numbers or codes, NaN where missing; missing is a value of its own.
    targets : int64 array, shape (n_samples,)
        Class positions.

    Notes
    -----
    The greater of two figures. The share of the prior's errors that are gone when each
    half of the rows says what the other half's majority says at the same value, or
    in the same bin. And of two classes twice the distance of the area under the curve
    from one half (Hanley and McNeil 1982), over the rows that are present.
    """
    step = -(-values.size // MAX_ROWS)
    values, targets = values[::step], targets[::step]
    told = told_by_halves(cut_values(values), targets, n_classes)
    if n_classes == 2:
        told = max(told, told_by_order(values, targets))
    return told


def cut_values(values: FloatArray) -> IntArray:
    """Return the bin of each value; the last one is for missing values."""
    present = values[~np.isnan(values)]
    cuts = np.unique(present)
    if cuts.size > MAX_BINS:
        n_bins = min(MAX_BINS, max(2, present.size // ROWS_PER_BIN))
        cuts = np.unique(np.quantile(present, np.linspace(0, 1, n_bins + 1)))
    bins = np.searchsorted(cuts, values, side="right")
    return np.where(np.isnan(values), cuts.size + 1, bins)


def told_by_halves(bins: IntArray, targets: IntArray, n_classes: int) -> float:
    """Return the share of errors that majorities of bins take away."""
    n_rows = targets.size
    prior = np.bincount(targets, minlength=n_classes)
    n_errors = n_rows - prior.max()
    if n_errors == 0:
        return 0.0
    half = np.random.default_rng(0).permutation(n_rows) % 2
    n_right = 0
    for side in (0, 1):
        is_known = half == side
        counts = np.zeros((int(bins.max()) + 1, n_classes), np.int64)
        np.add.at(counts, (bins[is_known], targets[is_known]), 1)
        said = np.where(counts.any(axis=1), counts.argmax(axis=1), prior.argmax())
        n_right += int((said[bins[~is_known]] == targets[~is_known]).sum())
    return max(0.0, 1.0 - (n_rows - n_right) / int(n_errors))


def told_by_order(values: FloatArray, targets: IntArray) -> float:
    """Return how well values order two classes; 0 where either has few rows."""
    is_present = ~np.isnan(values)
    present, classes = values[is_present], targets[is_present]
    n_second = int((classes == 1).sum())
    n_first = classes.size - n_second
    if min(n_first, n_second) < LEAST_ROWS or 2 * classes.size < values.size:
        return 0.0
    _, places, counts = np.unique(present, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    above = ranks[places][classes == 1].sum() - n_second * (n_second + 1) / 2
    return abs(2.0 * float(above) / (n_first * n_second) - 1.0)
