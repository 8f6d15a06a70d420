"""Quantities that the figures, verdicts and tables of Reyzin (2010) share."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from benchmarks.papers import document
from benchmarks.papers.document import (
    column,
)
from benchmarks.papers.intervals import Interval, interval, percentiles, resamples
from benchmarks.papers.reyzin import TITLES, find_marks
from benchmarks.papers.runs import Results
from core.types import FloatArray

LEVELS = (100, 50, 25, 10)


class Crossings:
    """Where the mean error first comes within a share of AdaBoost's, and how surely.

    The interval is a bootstrap over the repetitions.
    """

    def __init__(self, results: Results, title: str) -> None:
        self.marks = find_marks()
        errors = column(results, title, "errors")
        full = column(results, title, "adaboost")
        n_features = column(results, title, "n_features")
        read = 100 * column(results, title, "read") / n_features[:, None]
        weights = resamples(full.size)
        self.mean = (errors.mean(axis=0), full.mean(), read.mean(axis=0))
        self.again = (weights @ errors, weights @ full, weights @ read)

    def at(self, level: int) -> tuple[float, tuple[float, float]]:
        """Draws needed; infinite where the marks end before."""
        errors, full, _ = self.mean
        idx = self._first(errors, full, level)
        again = [
            self._first(*pair, level) for pair in zip(*self.again[:2], strict=True)
        ]
        reached = np.append(self.marks.astype(np.float64), np.inf)
        return float(reached[idx]), percentiles(reached[again])

    def read_at(self, level: int) -> tuple[float, tuple[float, float]]:
        """Percent of the features read by then."""
        errors, full, read = self.mean
        idx = self._first(errors, full, level)
        again = [
            np.append(by_mark, np.inf)[self._first(by_error, one, level)]
            for by_error, one, by_mark in zip(*self.again, strict=True)
        ]
        return float(np.append(read, np.inf)[idx]), percentiles(np.array(again))

    def _first(self, errors: FloatArray, full: float, level: int) -> int:
        is_within = errors <= full * (1 + level / 100)
        return int(np.argmax(is_within)) if is_within.any() else errors.size


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


def count_inside(results: Results, title: str) -> dict[str, list[bool]]:
    """Which of the paper's figures lie in our intervals; by table."""
    crossings, ours = Crossings(results, title), adaboost(results, title)
    samples, read = [], []
    for idx, level in enumerate(LEVELS):
        _, (low, high) = crossings.at(level)
        samples.append(low <= paper()["samples_needed"][title][idx] <= high)
        _, (low, high) = crossings.read_at(level)
        read.append(low <= paper()["percent_of_features_used"][title][idx] <= high)
    errors = paper()["adaboost_error_percent"][title] / 100
    return {"errors": [ours.holds(errors)], "samples": samples, "read": read}


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
