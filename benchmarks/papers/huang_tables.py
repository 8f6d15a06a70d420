"""Huang, Powers and Reyzin (2015) on boosting, as tables."""

from collections.abc import Sequence

from benchmarks.documents import Rows, percent, plus_minus, signed
from benchmarks.intervals import Interval, interval
from benchmarks.papers.huang import BUDGETS
from benchmarks.papers.results import SetResults, Sets
from benchmarks.papers.sets import SETS

LOW, HIGH = (2, 4, 6), (34, 36, 38, 40)
NAMES = {
    "rs": "RS",
    "bt": "BT",
    "greedy": "Greedy",
    "speedboost": "SpeedBoost",
    "smoothed": "Smoothed",
    "hybrid": "hybrid",
    "rs_unit": "RS, all 1",
    "bt_unit": "BT, all 1",
}
COST_RULES = ("rs_unit", "rs", "bt_unit", "bt", "greedy", "smoothed")
COST_PAIRS = (
    ("rs", "rs_unit"),
    ("bt", "bt_unit"),
    ("greedy", "bt_unit"),
    ("smoothed", "bt_unit"),
)
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


def write_costs(sets: Sets) -> Rows:
    for title, found in sets.items():
        means = [percent(found.column(key).mean(), 1) for key in COST_RULES]
        yield title, *means, *(signed(difference(found, *pair)) for pair in COST_PAIRS)


TABLES = {
    "huang-sets": write_sets,
    "huang-differences": write_differences,
    "huang-costs": write_costs,
}
