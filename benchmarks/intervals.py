"""Means over repetitions with their 95 % intervals (Student's t), paired or not."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from askless.core.arrays import FloatArray

LEVEL = 0.95
N_BOOTSTRAPS = 1000


@dataclass(frozen=True)
class Interval:
    """A mean and half the width of its 95 % interval."""

    mean: float
    half: float

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half

    def holds(self, value: float) -> bool:
        """Whether a value lies inside."""
        return self.low <= value <= self.high


def interval(values: npt.ArrayLike) -> Interval:
    """Interval of a mean; of the difference of means if `values` are differences."""
    array = np.asarray(values, dtype=np.float64)
    if array.size < 2:
        return Interval(float(array.mean()), float("inf"))
    t = stats.t.ppf((1 + LEVEL) / 2, array.size - 1)
    half = t * array.std(ddof=1) / np.sqrt(array.size)
    return Interval(float(array.mean()), float(half))


def of_one_more(values: npt.ArrayLike) -> Interval:
    """Where one more value lies, rather than their mean: mean ± t sd sqrt(1 + 1/n)."""
    ours = interval(values)
    return Interval(ours.mean, float(ours.half * np.sqrt(np.size(values) + 1)))


def range_of_one_more(values: npt.ArrayLike) -> tuple[float, float]:
    """Where one more value lies whatever their distribution, infinite ones among them.

    Between two ranks. Below 39 values from the least to the greatest, which hold one
    more with a chance of (n - 1)/(n + 1) only.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    rank = outer_rank(ordered.size)
    return float(ordered[rank - 1]), float(ordered[-rank])


def outer_rank(n_values: int) -> int:
    """Rank from either end beyond which one more value lies in 2.5 % of cases."""
    return max(1, int((n_values + 1) * (1 - LEVEL) / 2))


def resamples(n_repetitions: int) -> FloatArray:
    """Weights of the repetitions in each bootstrap; (N_BOOTSTRAPS, n), rows sum to 1.

    Always the same ones, so that the document comes out the same.
    """
    generator = np.random.default_rng(n_repetitions)
    shares = np.full(n_repetitions, 1 / n_repetitions)
    counts = generator.multinomial(n_repetitions, shares, N_BOOTSTRAPS)
    return counts / n_repetitions


def percentiles(values: FloatArray) -> tuple[float, float]:
    """The 95 % interval of bootstrapped values, infinite ones among them."""
    low, high = np.percentile(values, [2.5, 97.5], method="nearest")
    return float(low), float(high)


def rise_at_end(curves: FloatArray) -> tuple[int, Interval]:
    """Where a mean curve is lowest, and by how much its end lies above that.

    The place is chosen on every other repetition and the rise measured on the rest, or
    the least of many means would always seem to rise. curves: (repetitions, places).
    """
    lowest = int(np.argmin(curves[::2].mean(axis=0)))
    rest = curves[1::2]
    return lowest, interval(rest[:, -1] - rest[:, lowest])
