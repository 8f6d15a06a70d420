"""What follows from what `search` has stored, and its curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.papers import document
from benchmarks.papers.document import records
from benchmarks.papers.intervals import Interval, interval
from benchmarks.papers.runs import Results
from benchmarks.papers.search import LEARNERS, MARKS, SETS
from core.arrays import FloatArray

# How far above the whole search an error may end.
POINT = 0.01


def curves(results: Results, title: str, search: str, key: str) -> FloatArray:
    """Errors or seconds: a row per repetition, a column per mark."""
    return np.array([one[search][key] for one in records(results, title)])


def titles(results: Results) -> list[str]:
    """Sets and learners that were measured, in one order."""
    wanted = [f"{name} {learner}" for name in SETS for learner in LEARNERS]
    return [title for title in wanted if title in document.measured(results)]


def marks(results: Results, title: str) -> list[int]:
    """The rounds at which errors and seconds were taken."""
    return list(MARKS[: curves(results, title, "all", "errors").shape[1]])


def difference(
    results: Results, title: str, first: str, second: str, mark: int | None = None
) -> Interval | None:
    """Error of one search above another's, paired; at a mark or at the end.

    None where the run was shorter than the mark.
    """
    taken = marks(results, title)
    if mark is not None and mark not in taken:
        return None
    place = -1 if mark is None else taken.index(mark)
    ours = curves(results, title, first, "errors")[:, place]
    return interval(ours - curves(results, title, second, "errors")[:, place])


@dataclass(frozen=True)
class Ratio:
    """How many times faster: the middle and its 95 % interval, on the log scale."""

    middle: float
    low: float
    high: float


def speed(results: Results, title: str, search: str) -> Ratio:
    """Seconds of the whole search over another's, paired, at the end."""
    ours = curves(results, title, search, "seconds")[:, -1]
    one = interval(np.log(curves(results, title, "all", "seconds")[:, -1] / ours))
    return Ratio(*(float(np.exp(value)) for value in (one.mean, one.low, one.high)))


def faster(results: Results, search: str) -> list[str]:
    """Where a search is surely faster than the whole one."""
    return [title for title in titles(results) if speed(results, title, search).low > 1]


def within(results: Results, search: str, *, surely: bool = True) -> list[str]:
    """Where a search surely ends within a point of the whole one; or surely beyond."""
    found = []
    for title in titles(results):
        one = difference(results, title, search, "all")
        if one and (one.high <= POINT if surely else one.low > POINT):
            found.append(title)
    return found


def surely(
    results: Results, first: str, second: str, mark: int | None = None
) -> tuple[list[str], list[str]]:
    """Where one search surely errs less than another, and where more."""
    found = {
        title: difference(results, title, first, second, mark)
        for title in titles(results)
    }
    less = [title for title, one in found.items() if one and one.high < 0]
    return less, [title for title, one in found.items() if one and one.low > 0]
