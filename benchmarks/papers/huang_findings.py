"""Quantities that the figures, verdicts and tables of Huang et al. (2015) share."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.papers import document
from benchmarks.papers.document import (
    column,
)
from benchmarks.papers.huang import BUDGETS
from benchmarks.papers.intervals import Interval, interval
from benchmarks.papers.runs import Results
from benchmarks.papers.sets import SETS

LOW = (2, 4, 6)

HIGH = (34, 36, 38, 40)
NAMES = {
    "rs": "RS",
    "bt": "BT",
    "greedy": "Greedy",
    "speedboost": "SpeedBoost",
    "smoothed": "Smoothed",
    "hybrid": "hybrid",
}


def titles(results: Results) -> list[str]:
    """Sets measured, in the paper's order."""
    return [title for title in SETS if title in document.measured(results)]


def difference(
    results: Results, title: str, one: str, other: str, budgets: Sequence[int] = BUDGETS
) -> Interval:
    """Paired difference of error, mean over some budgets."""
    idxs = [BUDGETS.index(budget) for budget in budgets]
    pair = [column(results, title, key)[:, idxs].mean(axis=1) for key in (one, other)]
    return interval(pair[0] - pair[1])
