"""Means over repetitions with their 95 % intervals (Student's t), paired or not."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

LEVEL = 0.95


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
