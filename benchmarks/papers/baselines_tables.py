"""The product's baselines, as tables and a verdict."""

from benchmarks.documents import Rows, listed, percent, plus_minus, signed
from benchmarks.intervals import Interval, interval
from benchmarks.papers.baselines import BUDGETS, SETS
from benchmarks.papers.results import (
    Verdict,
    beside,
    column,
    grade,
    mean,
    measured,
    paired,
)
from benchmarks.papers.runs import Results

NAMES = {
    "decision_tree": "one pruned tree",
    "bagging": "bagging",
    "random_forest": "random forest",
}
BAGGED = ("bagging", "random_forest")
SHOWN = (2, 6, 40)

# How near the out-of-bag error must surely be to count as an estimate.
NEAR = 0.02


def find_gap(results: Results, title: str, name: str) -> Interval:
    """Out-of-bag error less the error on the test rows; paired."""
    left_out = column(results, title, f"{name}_out_of_bag")
    return interval(left_out - column(results, title, f"{name}_all"))


def judge_left_out(results: Results) -> Verdict:
    """Do the rows left out say what the test rows do, within `NEAR`?"""
    gaps = {
        f"{title}, {NAMES[name]}": find_gap(results, title, name)
        for title in measured(results, SETS)
        for name in BAGGED
    }
    is_near = [max(-one.low, one.high) <= NEAR for one in gaps.values()]
    biased = [f"{name} {signed(one)}" for name, one in gaps.items() if not one.holds(0)]
    return grade(is_near) if any(is_near) else "undecided", (
        f"out-of-bag less test error surely within {100 * NEAR:.0f} points in "
        f"{sum(is_near)} of {len(gaps)} cases; surely other than 0: {listed(biased)}"
    )


def write_baselines(results: Results) -> Rows:
    rows = []
    for title in measured(results, SETS):
        for name, words in NAMES.items():
            left_out = ["", ""]
            if name in BAGGED:
                errors = interval(column(results, title, f"{name}_out_of_bag"))
                gap = find_gap(results, title, name)
                left_out = [plus_minus(errors), signed(gap)]
            curve = mean(results, title, name)
            cells = [percent(curve[BUDGETS.index(budget)], 1) for budget in SHOWN]
            whole = plus_minus(interval(column(results, title, f"{name}_all")))
            first = title if name == next(iter(NAMES)) else ""
            rows.append((first, words, *cells, whole, *left_out))
    return rows


def write_pruning(results: Results) -> Rows:
    trees = beside(results, "trees")
    rows = []
    for title in measured(results, measured(trees, SETS)):
        ours = column(results, title, "decision_tree_all")
        other = column(trees, title, "pruned_unlimited")
        rows.append((title, signed(paired(ours, other))))
    return rows


TABLES = {"baselines": write_baselines, "baselines-pruning": write_pruning}
JUDGES = {"left out": judge_left_out}
