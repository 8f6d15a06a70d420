"""Sums of figures by day, and intervals of their means by drawing days anew.

Cases of one day may go together, so whole days are drawn with replacement (the cluster
bootstrap; Efron and Tibshirani 1993, sec. 8.6). Memory grows with days, not with cases.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.model.figures import Estimate

N_DRAWS = 2000
# With fewer days there is no interval: their spread says too little.
LEAST_DAYS = 5
LEVELS = (0.025, 0.975)


class BoundedMean(NamedTuple):
    """A mean that a log leaves open: an estimate between two bounds."""

    #: by a model of the answers that the log lacks; the mean itself if it lacks none
    estimate: Estimate
    least: float
    most: float
    #: of 95 % for the two bounds: from the lower end of the first to the upper end of
    #: the second; None: too few days
    interval: tuple[float, float] | None


class DaySums:
    """Sums of named figures by day."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._by_day: dict[int, FloatArray] = {}

    def add(
        self, days: IntArray, figures: Mapping[str, Sequence[float] | object]
    ) -> None:
        """Add figures of some cases, (n_cases,) each; their names never change."""
        names = tuple(figures)
        assert self._names in ((), names), "the figures are the same for all cases"
        self._names = names
        columns = np.column_stack([np.asarray(figures[name], float) for name in names])
        present, places = np.unique(days, return_inverse=True)
        sums = np.zeros((present.size, len(names)))
        np.add.at(sums, places, columns)
        for day, added in zip(present.tolist(), sums, strict=True):
            self._by_day[day] = self._by_day.get(day, 0.0) + added

    def draw(self, random: np.random.Generator) -> "DrawnSums":
        """Return the sums over all days, and over days drawn with replacement."""
        by_day = np.array([self._by_day[day] for day in sorted(self._by_day)])
        n_days = len(by_day)
        counts = random.multinomial(n_days, np.full(n_days, 1.0 / n_days), N_DRAWS)
        return DrawnSums(self._names, by_day.sum(axis=0), counts @ by_day, n_days)


class DrawnSums(NamedTuple):
    """Sums of figures, and those of days drawn anew."""

    names: tuple[str, ...]
    #: (n_figures,)
    sums: FloatArray
    #: (n_draws, n_figures)
    drawn: FloatArray
    n_days: int

    def total(self, name: str) -> float:
        """Return the sum of a figure over all cases."""
        return float(self.sums[self.names.index(name)])

    def mean(self, top: str, below: str = "cases", less: str | None = None) -> Estimate:
        """Return a sum, less another one, divided by a third, with its interval."""
        place, under = self.names.index(top), self.names.index(below)
        value, drawn = self.sums[place], self.drawn[:, place]
        if less is not None:
            other = self.names.index(less)
            value, drawn = value - self.sums[other], drawn - self.drawn[:, other]
        if not self.sums[under]:
            return Estimate(0.0, None)
        mean = float(value / self.sums[under])
        weights = self.drawn[:, under]
        if self.n_days < LEAST_DAYS:
            return Estimate(mean, None)
        low, high = np.quantile(drawn[weights > 0] / weights[weights > 0], LEVELS)
        return Estimate(mean, (float(low), float(high)))

    def bounded(self, name: str, below: str = "cases") -> BoundedMean:
        """Return the mean of a figure with its bounds, `<name>_least` and `_most`."""
        least = self.mean(f"{name}_least", below)
        most = self.mean(f"{name}_most", below)
        interval = None
        if least.interval is not None and most.interval is not None:
            interval = (least.interval[0], most.interval[1])
        estimate = self.mean(name, below)
        return BoundedMean(estimate, least.value, most.value, interval)
