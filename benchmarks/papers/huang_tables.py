"""Huang, Powers and Reyzin (2015) on boosting, as tables."""

from collections.abc import Sequence

from benchmarks.documents import Rows, listed, percent, plus_minus, signed
from benchmarks.intervals import Interval, Sides, interval, sides
from benchmarks.papers.huang import BUDGETS
from benchmarks.papers.results import column, measured
from benchmarks.papers.runs import Results
from benchmarks.papers.sets import SETS

SHOWN = (2, 6, 12, 24, 40)
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
RULES = tuple(NAMES)[:6]
COST_PAIRS = (
    ("rs", "rs_unit"),
    ("bt", "bt_unit"),
    ("greedy", "bt_unit"),
    ("smoothed", "bt_unit"),
)


def titles(results: Results) -> list[str]:
    """Sets measured, in the paper's order."""
    return measured(results, tuple(SETS))


def difference(
    results: Results, title: str, one: str, other: str, budgets: Sequence[int] = BUDGETS
) -> Interval:
    """Paired difference of error, mean over some budgets."""
    idxs = [BUDGETS.index(budget) for budget in budgets]
    pair = [column(results, title, key)[:, idxs].mean(axis=1) for key in (one, other)]
    return interval(pair[0] - pair[1])


def compare(
    results: Results, one: str, other: str, budgets: Sequence[int] = BUDGETS
) -> Sides:
    """Where one rule surely errs less than another, and where more."""
    names = titles(results)
    return sides(
        {name: difference(results, name, one, other, budgets) for name in names}
    )


def write_sets(results: Results) -> Rows:
    rows = []
    for title in titles(results):
        one, counts = SETS[title], column(results, title, "n_features")
        ends = dict.fromkeys(f"{int(end):,}" for end in (counts.min(), counts.max()))
        sizes = f"{one.n_train:,} / {one.n_test:,}"
        error = plus_minus(interval(column(results, title, "adaboost")))
        features = ("–".join(ends), f"{one.n_features:,}")
        rows.append((title, one.name, *features, sizes, one.rounds, error, one.note))
    return rows


def write_budgets(results: Results) -> Rows:
    rows = []
    for title in titles(results):
        for budget in SHOWN:
            idx = BUDGETS.index(budget)
            columns = (column(results, title, key)[:, idx] for key in RULES)
            cells = [plus_minus(interval(one), 1) for one in columns]
            rows.append((title if budget == SHOWN[0] else "", budget, *cells))
    return rows


def write_differences(results: Results) -> Rows:
    pairs = (
        ("bt", "rs", BUDGETS),
        ("greedy", "bt", LOW),
        ("greedy", "bt", HIGH),
        ("smoothed", "greedy", LOW),
        ("smoothed", "greedy", HIGH),
        ("speedboost", "greedy", BUDGETS),
        ("hybrid", "smoothed", BUDGETS),
    )
    rows = [
        (title, *(signed(difference(results, title, *pair)) for pair in pairs))
        for title in titles(results)
    ]
    return rows


def write_costs(results: Results) -> Rows:
    shown = ("rs_unit", "rs", "bt_unit", "bt", "greedy", "smoothed")
    rows = []
    for title in titles(results):
        means = [percent(column(results, title, key).mean(), 1) for key in shown]
        found = [signed(difference(results, title, *pair)) for pair in COST_PAIRS]
        rows.append((title, *means, *found))
    return rows


def write_cost_sides(results: Results) -> Rows:
    rows = []
    for one, other in COST_PAIRS:
        found = compare(results, one, other)
        label = f"{NAMES[one]} − {NAMES[other]}"
        rows.append((label, *map(listed, (found.less, found.more, found.open))))
    return rows


TABLES = {
    "huang-sets": write_sets,
    "huang-budgets": write_budgets,
    "huang-differences": write_differences,
    "huang-costs": write_costs,
    "huang-cost-sides": write_cost_sides,
}
