"""Pairs of models whose true difference is known, looked at daily again and again."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from askless.core.arrays import BoolArray, FloatArray
from askless.core.model.figures import wilson_interval
from askless.core.simulation.sequences import find_crossing


class Pair(NamedTuple):
    """A champion and a challenger, and how many cases of both are looked at.

    `disagreement` is the share of cases on which just one of them is wrong. `gap` is
    the champion's error minus the challenger's.
    """

    disagreement: float
    gap: float
    n_days: int
    cases_per_day: int

    def draw(self, random: np.random.Generator) -> FloatArray:
        """Draw the gaps of all days, each 1, 0 or -1; shape (n_cases,)."""
        chances = [
            (self.disagreement - self.gap) / 2,
            1.0 - self.disagreement,
            (self.disagreement + self.gap) / 2,
        ]
        n_cases = self.n_days * self.cases_per_day
        return random.choice([-1.0, 0.0, 1.0], size=n_cases, p=chances)


class ShareOfPairs(NamedTuple):
    """A share of repetitions, with its 95 % interval."""

    value: float
    low: float
    high: float


class Promotions(NamedTuple):
    """What becomes of many challengers by three rules at the same level."""

    #: a confidence sequence, at each day
    by_sequence: ShareOfPairs
    #: a t-test, repeated each day until it says yes
    by_daily_t: ShareOfPairs
    #: one t-test, on the last day alone
    by_last_t: ShareOfPairs
    #: the day of the promotion by the sequence, where half or more are promoted
    median_day: int | None


def repeat(
    pair: Pair, alpha: float, n_repetitions: int, seed: tuple[int, ...]
) -> Promotions:
    """Draw a pair's cases again and again, and count promotions by each rule."""
    random = np.random.default_rng(seed)
    days, n_daily, n_last = [], 0, 0
    for _ in range(n_repetitions):
        gaps = pair.draw(random)
        n_seen = find_crossing(gaps, 0.0, alpha)
        days.append(np.inf if n_seen is None else -(-n_seen // pair.cases_per_day))
        is_better = judge_daily(gaps, pair.cases_per_day, alpha)
        n_daily += bool(is_better.any())
        n_last += bool(is_better[-1])
    median = float(np.median(days))
    return Promotions(
        share_of(sum(one < np.inf for one in days), n_repetitions),
        share_of(n_daily, n_repetitions),
        share_of(n_last, n_repetitions),
        None if median == np.inf else int(np.ceil(median)),
    )


def judge_daily(gaps: FloatArray, cases_per_day: int, alpha: float) -> BoolArray:
    """Return for each day whether a one-sided paired t-test of all cases says better.

    This is what must not be done: each look has its own chance to be wrong.
    """
    n_seen = np.arange(cases_per_day, gaps.size + 1, cases_per_day)
    means = np.cumsum(gaps)[n_seen - 1] / n_seen
    squares = np.cumsum(gaps**2)[n_seen - 1]
    variances = (squares - n_seen * means**2) / (n_seen - 1)
    bounds = stats.t.ppf(1.0 - alpha, n_seen - 1) * np.sqrt(variances / n_seen)
    is_better: BoolArray = (means > 0) & (means > bounds)
    return is_better


def share_of(count: int, n_repetitions: int) -> ShareOfPairs:
    """Return a share of repetitions with its interval (Wilson)."""
    value = count / n_repetitions
    return ShareOfPairs(value, *wilson_interval(value, n_repetitions))
