"""Huang, Powers and Reyzin (2015) on boosting, as tables."""

from collections.abc import Sequence

from benchmarks.documents import Rows, plus_minus, signed
from benchmarks.intervals import Interval, interval
from benchmarks.papers.huang import BUDGETS
from benchmarks.papers.results import SetResults, Sets
from benchmarks.papers.sets import SETS

LOW, HIGH = (2, 4, 6), (34, 36, 38, 40)
PAIRS = (
    ("bt", "rs", BUDGETS),
    ("greedy", "bt", LOW),
    ("greedy", "bt", HIGH),
    ("smoothed", "greedy", LOW),
    ("smoothed", "greedy", HIGH),
    ("speedboost", "greedy", BUDGETS),
    ("hybrid", "smoothed", BUDGETS),
)


def difference(
    found: SetResults, one: str, other: str, budgets: Sequence[int] = BUDGETS
) -> Interval:
    """Paired difference of error, mean over some budgets."""
    idxs = [BUDGETS.index(budget) for budget in budgets]
    pair = [found.column(key)[:, idxs].mean(axis=1) for key in (one, other)]
    return interval(pair[0] - pair[1])


def write_sets(sets: Sets) -> Rows:
    for title, found in sets.items():
        one, counts = SETS[title], found.column("n_features")
        ends = dict.fromkeys(f"{int(end):,}" for end in (counts.min(), counts.max()))
        sizes = f"{one.n_train:,} / {one.n_test:,}"
        error = plus_minus(interval(found.column("adaboost")))
        features = ("–".join(ends), f"{one.n_features:,}")
        yield title, one.name, *features, sizes, one.rounds, error, one.note


def write_differences(sets: Sets) -> Rows:
    for title, found in sets.items():
        yield title, *(signed(difference(found, *pair)) for pair in PAIRS)


TABLES = {
    "huang-sets": write_sets,
    "huang-differences": write_differences,
}
