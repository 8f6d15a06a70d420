"""Scores how well one column predicts the target; a very good one is often a leak."""

import numpy as np

from askless.core.arrays import FloatArray, IntArray

# Most rows that are read; of a longer table evenly spaced ones.
MAX_ROWS = 20_000
# A bin of numbers has at least so many values on average.
ROWS_PER_BIN = 20
MAX_BINS = 254
# A class with fewer rows may be ordered well by chance.
LEAST_ROWS = 20


def score_column(values: FloatArray, targets: IntArray, n_classes: int) -> float:
    """Return how well a column alone predicts the target, from 0 to 1 (exactly).

    Parameters
    ----------
    values : float64 array, shape (n_samples,)
        Numbers or codes, NaN where missing; missing is a value of its own.
    targets : int64 array, shape (n_samples,)
        Class positions.

    Notes
    -----
    The greater of two statistics: Goodman and Kruskal's (1954) lambda, cross-validated
    on two halves (`error_reduction`), and for two classes the size of Somers' D
    (`somers_d`).
    """
    step = -(-values.size // MAX_ROWS)
    values, targets = values[::step], targets[::step]
    score = error_reduction(cut_values(values), targets, n_classes)
    if n_classes == 2:
        score = max(score, abs(somers_d(values, targets)))
    return score


def cut_values(values: FloatArray) -> IntArray:
    """Return the bin of each value; the last one is for missing values."""
    present = values[~np.isnan(values)]
    cuts = np.unique(present)
    if cuts.size > MAX_BINS:
        n_bins = min(MAX_BINS, max(2, present.size // ROWS_PER_BIN))
        cuts = np.unique(np.quantile(present, np.linspace(0, 1, n_bins + 1)))
    bins = np.searchsorted(cuts, values, side="right")
    return np.where(np.isnan(values), cuts.size + 1, bins)


def error_reduction(bins: IntArray, targets: IntArray, n_classes: int) -> float:
    """Return how much smaller the error is with the column than without it.

    Goodman and Kruskal's (1954) lambda, cross-validated: each half of the rows is
    predicted as the most frequent class of the other half in the same bin. Without the
    column every row is predicted as the most frequent class of all. Never below 0.
    """
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
        modes = np.where(counts.any(axis=1), counts.argmax(axis=1), prior.argmax())
        n_right += int((modes[bins[~is_known]] == targets[~is_known]).sum())
    return max(0.0, 1.0 - (n_rows - n_right) / int(n_errors))


def somers_d(values: FloatArray, targets: IntArray) -> float:
    """Return Somers' D of the values for two classes: 2 AUROC - 1, from -1 to 1.

    Missing values are left out. 0 where a class has fewer than `LEAST_ROWS` rows or
    where most values are missing.

    Notes
    -----
    The area under the ROC curve is computed from mean ranks (Hanley and McNeil 1982).
    """
    is_present = ~np.isnan(values)
    present, classes = values[is_present], targets[is_present]
    n_second = int((classes == 1).sum())
    n_first = classes.size - n_second
    if min(n_first, n_second) < LEAST_ROWS or 2 * classes.size < values.size:
        return 0.0
    _, places, counts = np.unique(present, return_inverse=True, return_counts=True)
    # The mean rank of each distinct value, counted from 1.
    ranks = np.cumsum(counts) - (counts - 1) / 2
    n_ordered = ranks[places][classes == 1].sum() - n_second * (n_second + 1) / 2
    return 2.0 * float(n_ordered) / (n_first * n_second) - 1.0
