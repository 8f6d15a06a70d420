"""Quantities that the figures, verdicts and tables of Reyzin (2010) share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.papers import document
from benchmarks.papers.document import (
    column,
)
from benchmarks.papers.intervals import (
    Interval,
    interval,
    of_one_more,
    percentiles,
    range_of_one_more,
    resamples,
)
from benchmarks.papers.reyzin import TITLES, find_marks
from benchmarks.papers.runs import Results
from core.arrays import FloatArray, IntArray

LEVELS = (100, 50, 25, 10)


@dataclass(frozen=True)
class Beside:
    """A figure of the paper's beside ours: of the mean over the splits, and of one.

    `low` to `high` is the 95 % interval of the mean; `split_low` to `split_high` is
    where one more split would lie, about `median`; `n_beyond` splits are as far out as
    the paper's or farther.
    """

    theirs: float
    mean: float
    low: float
    high: float
    median: float
    split_low: float
    split_high: float
    n_beyond: int

    @property
    def is_of_mean(self) -> bool:
        """Whether the paper's lies in the interval of our mean."""
        return self.low <= self.theirs <= self.high

    @property
    def is_of_split(self) -> bool:
        """Whether the paper's could be one of our splits."""
        return self.split_low <= self.theirs <= self.split_high


class Crossings:
    """Where the error first comes within a share of AdaBoost's, and how surely.

    Of the mean curve, with a bootstrap interval over the splits; and of each split's
    own, whose noise lets it touch a level sooner.
    """

    def __init__(self, results: Results, title: str) -> None:
        self.title = title
        weights = resamples(column(results, title, "adaboost").size)
        n_features = column(results, title, "n_features")[:, None]
        self.errors = view(column(results, title, "errors"), weights)
        self.full = view(column(results, title, "adaboost")[:, None], weights)
        self.read = view(100 * column(results, title, "read") / n_features, weights)

    def draws(self, level: int) -> Beside:
        """Draws needed; infinite where the marks end before."""
        theirs = paper()["samples_needed"][self.title][LEVELS.index(level)]
        marks = np.append(find_marks().astype(np.float64), np.inf)
        return compare(theirs, *(marks[one] for one in self._find(level)))

    def features(self, level: int) -> Beside:
        """Percent of the features read by then."""
        theirs = paper()["percent_of_features_used"][self.title][LEVELS.index(level)]
        taken = []
        for read, idxs in zip(self.read, self._find(level), strict=True):
            rows = np.arange(idxs.size)
            taken.append(with_end(read)[rows, idxs])
        return compare(theirs, *taken)

    def _find(self, level: int) -> list[IntArray]:
        """First mark within the level, one past the last where none is."""
        found = []
        for errors, full in zip(self.errors, self.full, strict=True):
            is_within = errors <= full * (1 + level / 100)
            first = np.argmax(is_within, axis=1)
            found.append(np.where(is_within.any(axis=1), first, is_within.shape[1]))
        return found


def view(
    values: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean of the splits, mean of each bootstrap, and the splits; by rows."""
    return values.mean(axis=0, keepdims=True), weights @ values, values


def with_end(curves: FloatArray) -> FloatArray:
    """Curves with infinity past their last mark."""
    return np.pad(curves, ((0, 0), (0, 1)), constant_values=np.inf)


def compare(
    theirs: float, mean: FloatArray, bootstraps: FloatArray, splits: FloatArray
) -> Beside:
    """Lay a figure of the paper's beside ours; infinite ones among them."""
    median = float(np.median(splits))
    interval_of_mean, one = percentiles(bootstraps), range_of_one_more(splits)
    n_beyond = count_beyond(theirs, splits)
    return Beside(theirs, float(mean[0]), *interval_of_mean, median, *one, n_beyond)


def count_beyond(theirs: float, splits: FloatArray) -> int:
    """Count the splits on the farther side of a figure of the paper's, or at it."""
    return int(min((splits <= theirs).sum(), (splits >= theirs).sum()))


@cache
def paper() -> dict[str, Any]:
    """The paper's tables."""
    return document.reference("reyzin_2010")


def titles(results: Results) -> list[str]:
    """Sets measured, in the paper's order."""
    return [title for title in TITLES if title in document.measured(results)]


def adaboost(results: Results, title: str) -> Interval:
    """AdaBoost's error with everything read."""
    return interval(column(results, title, "adaboost"))


def compare_tables(results: Results, title: str) -> dict[str, list[Beside]]:
    """Each of the paper's figures of a set beside ours, by table."""
    crossings = Crossings(results, title)
    return {
        "errors": [compare_errors(results, title)],
        "samples": [crossings.draws(level) for level in LEVELS],
        "read": [crossings.features(level) for level in LEVELS],
    }


def compare_errors(results: Results, title: str) -> Beside:
    """AdaBoost's error in percent; of one split by Student's t too."""
    errors = 100 * column(results, title, "adaboost")
    theirs = paper()["adaboost_error_percent"][title]
    mean, one = interval(errors), of_one_more(errors)
    ours = (mean.mean, mean.low, mean.high, float(np.median(errors)), one.low, one.high)
    return Beside(theirs, *ours, count_beyond(theirs, errors))


def fit_of_excess(results: Results, title: str) -> tuple[float, float]:
    """Determination of log(excess error) by the draws and by their logarithm.

    Over the marks where the excess is at least a tenth of AdaBoost's error, thinned to
    even steps of the logarithm.
    """
    full = adaboost(results, title).mean
    excess = column(results, title, "errors").mean(axis=0) - full
    wanted = np.unique(np.searchsorted(find_marks(), 1.15 ** np.arange(58)))
    idxs = np.array([i for i in wanted if i < excess.size and excess[i] > full / 10])
    draws, logs = find_marks()[idxs], np.log(excess[idxs])
    fits = [np.corrcoef(one, logs)[0, 1] ** 2 for one in (draws, np.log(draws))]
    return float(fits[0]), float(fits[1])


def unread(results: Results, title: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Share of features unread; what even draws would leave; by marks.

    The last: even draws over the features that some round of AdaBoost reads.
    """
    read, n_features, n_used = (
        column(results, title, key) for key in ("read", "n_features", "n_used")
    )
    n_features, n_used = n_features[:, None], n_used[:, None]
    even = (1 - 1 / n_features) ** find_marks()
    used_left = n_used * (1 - 1 / n_used) ** find_marks()
    even_used = (n_features - n_used + used_left) / n_features
    shares = (1 - read / n_features, even, even_used)
    return tuple(one.mean(axis=0) for one in shares)


def differences(results: Results, title: str, one: str, other: str) -> list[Interval]:
    """Paired difference of error, by number of features."""
    paired = column(results, title, one) - column(results, title, other)
    return [interval(by_count) for by_count in paired.T]
