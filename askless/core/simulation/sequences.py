"""Bounds of a mean that hold at every look: confidence sequences by betting."""

import math

import numpy as np

from askless.core.arrays import FloatArray, IntArray

# Shares of its capital that a bettor stakes each time. The best share is about the mean
# gap over its variance; between two of these it loses a tenth of its growth at most.
STAKES = 0.75 * 0.5 ** np.arange(6)
# Halvings of [-1, 1]: more than a bound is ever shown with.
N_HALVINGS = 40


def bound_mean_gaps(gaps: FloatArray, n_seen: IntArray, alpha: float) -> FloatArray:
    """Return a lower and an upper bound of a mean gap after each number of cases.

    Parameters
    ----------
    gaps : float64 array, shape (n_cases,)
        Differences of two losses on the same case, each in [-1, 1], in a fixed order.
    n_seen : int64 array, shape (n_looks,)
        Numbers of cases, from 0 to n_cases. The bounds of a look are those of the cases
        before it.
    alpha : float
        The chance that the lower bound is above the mean at any look, however many
        there are; likewise for the upper bound. In (0, 1).

    Returns
    -------
    float64 array, shape (n_looks, 2)

    Notes
    -----
    Let X be the gaps and suppose that each has a mean of at most m, given those before
    it. A bettor who stakes the share f of the capital at each case multiplies it by

        1 - f + f (1 + X)/(1 + m) >= 0,

    which has a mean of at most 1. Hence the capital is a supermartingale, and so is the
    mean of the capitals of several bettors, `STAKES`. It starts at 1 and ever reaches
    1/alpha with a chance of at most alpha (Ville 1939). The lower bound is the largest
    m for which it has done so (Waudby-Smith and Ramdas 2024, section 4, whose variable
    is (1 + X)/2 and whose bet is f/mean). It exists since the capital falls as m rises.

    Their bets change from case to case. Ours stay, as in Cover's (1991) universal
    portfolio. So the capital depends on the gaps and not on their order.

    The mean may change over time. The lower bound then speaks of the largest mean gap
    that any case has had.
    """
    values, places = np.unique(gaps, return_inverse=True)
    counts = [
        np.bincount(places[:n_cases], minlength=values.size) for n_cases in n_seen
    ]
    seen = np.reshape(counts, (len(counts), values.size)).astype(np.float64)
    return np.column_stack(
        [lower_bound(values, seen, alpha), -lower_bound(-values, seen, alpha)]
    )


def lower_bound(values: FloatArray, counts: FloatArray, alpha: float) -> FloatArray:
    """Return the lower bound of the mean for each row of counts of values."""
    low, high = np.full(len(counts), -1.0), np.ones(len(counts))
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2.0
        factors = (1.0 + values) / (1.0 + middle[:, None])
        growth = np.log1p(STAKES * (factors[:, :, None] - 1.0))
        is_excluded = log_mean_capital(
            np.einsum("lv,lvs->ls", counts, growth)
        ) >= -math.log(alpha)
        low = np.where(is_excluded, middle, low)
        high = np.where(is_excluded, high, middle)
    return low


def count_until_above(gaps: FloatArray, margin: float, alpha: float) -> int | None:
    """Return after how many cases the lower bound first is above a margin, or None.

    It is the first of all numbers of cases, so that the looks do not matter: whoever
    looks more or less often finds the same. Of many pairs of models whose mean gap is
    at most `margin`, at most the share `alpha` ever cross. Arguments are as in
    `bound_mean_gaps`; `margin` is in (-1, 1).
    """
    growth = np.log1p(STAKES * ((1.0 + gaps[:, None]) / (1.0 + margin) - 1.0))
    is_crossed = log_mean_capital(np.cumsum(growth, axis=0)) >= -math.log(alpha)
    return int(np.argmax(is_crossed)) + 1 if is_crossed.any() else None


def log_mean_capital(logs: FloatArray) -> FloatArray:
    """Return the logarithm of the mean capital of the bettors in the last axis."""
    most = logs.max(axis=-1)
    mixed: FloatArray = most + np.log(np.exp(logs - most[..., None]).mean(axis=-1))
    return mixed
