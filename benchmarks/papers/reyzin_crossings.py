"""Reyzin's tables beside ours: of one split, and of the mean over all."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from benchmarks.intervals import (
    interval,
    of_one_more,
    percentiles,
    range_of_one_more,
    resamples,
)
from benchmarks.papers.results import SetResults, reference
from benchmarks.papers.reyzin import find_marks

LEVELS = (100, 50, 25, 10)
SAMPLES, READ = "samples_needed", "percent_of_features_used"


@dataclass(frozen=True)
class Beside:
    """A figure of the paper's beside ours: of the mean over the splits, and of one.

    `low` to `high` is the 95 % interval of the mean; `split_low` to `split_high` is
    where one more split would lie, about `median`.
    """

    theirs: float
    mean: float
    low: float
    high: float
    median: float
    split_low: float
    split_high: float

    @property
    def is_of_mean(self) -> bool:
        """Whether the paper's lies in the interval of our mean."""
        return self.low <= self.theirs <= self.high

    @property
    def is_of_split(self) -> bool:
        """Whether the paper's could be one of our splits."""
        return self.split_low <= self.theirs <= self.split_high


@cache
def read_paper() -> dict[str, Any]:
    """The paper's tables."""
    return reference("reyzin_2010")


def compare_tables(ours: SetResults) -> dict[str, list[Beside]]:
    """Each of the paper's figures of a set beside ours, by table."""
    errors = 100 * ours.column("adaboost")
    theirs = read_paper()["adaboost_error_percent"][ours.title]
    whole, one = interval(errors), of_one_more(errors)
    ends = (whole.low, whole.high, float(np.median(errors)), one.low, one.high)
    found = {"errors": [Beside(theirs, whole.mean, *ends)]}
    marks = np.append(find_marks().astype(np.float64), np.inf)
    shares = ours.column("read").T / ours.column("n_features")
    past = {"pad_width": ((0, 0), (0, 1)), "constant_values": np.inf}
    curves = {
        SAMPLES: [np.tile(marks, (one.shape[0], 1)) for one in view(shares.T)],
        READ: [np.pad(100 * one, **past) for one in view(shares.T)],
    }
    for name, values in curves.items():
        found[name] = []
        for level, theirs in zip(LEVELS, read_paper()[name][ours.title], strict=True):
            crossings = find_crossings(ours, level)
            taken = [
                one[np.arange(idxs.size), idxs]
                for one, idxs in zip(values, crossings, strict=True)
            ]
            found[name].append(compare(theirs, *taken))
    return found


def find_crossings(ours: SetResults, level: int) -> list[IntArray]:
    """First mark within a share above AdaBoost's error, one past the last if none.

    Of the mean curve, of each bootstrap over the splits, and of each split's own, whose
    noise lets it touch a level sooner.
    """
    found = []
    for errors, full in zip(
        view(ours.column("errors")),
        view(ours.column("adaboost")[:, None]),
        strict=True,
    ):
        is_within = errors <= full * (1 + level / 100)
        first = np.argmax(is_within, axis=1)
        found.append(np.where(is_within.any(axis=1), first, is_within.shape[1]))
    return found


def view(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean of the splits, mean of each bootstrap, and the splits; by rows."""
    bootstraps = resamples(values.shape[0]) @ values
    return values.mean(axis=0, keepdims=True), bootstraps, values


def compare(
    theirs: float, whole: FloatArray, bootstraps: FloatArray, splits: FloatArray
) -> Beside:
    """Lay a figure of the paper's beside ours; infinite ones among them."""
    ends = (*percentiles(bootstraps), float(np.median(splits)))
    return Beside(theirs, float(whole[0]), *ends, *range_of_one_more(splits))
