"""The product's baselines, as tables and a verdict."""

from __future__ import annotations

from benchmarks.documents import listed, percent, plus_minus, signed, table
from benchmarks.intervals import Interval, interval
from benchmarks.papers.baselines import BUDGETS, SETS
from benchmarks.papers.results import Verdict, beside, column, mean, measured, paired
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


def judge(results: Results) -> list[Verdict]:
    """Do the rows left out say what the test rows do, within `NEAR`?"""
    gaps = {
        f"{title}, {NAMES[name]}": find_gap(results, title, name)
        for title in measured(results, SETS)
        for name in BAGGED
    }
    near = [one for one in gaps.values() if max(-one.low, one.high) <= NEAR]
    biased = [
        f"{title} {signed(one)}" for title, one in gaps.items() if not one.holds(0.0)
    ]
    verdict = "partly" if near else "undecided"
    return [
        Verdict(
            "003",
            "The rows that a bootstrap sample leaves out estimate the error of bagging",
            "reproduced" if len(near) == len(gaps) else verdict,
            f"out-of-bag less test error surely within {100 * NEAR:.0f} points in "
            f"{len(near)} of {len(gaps)} cases; surely other than 0: {listed(biased)}",
        )
    ]


def write_baselines(results: Results) -> str:
    """Errors under budgets and without one, and out-of-bag."""
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
    heading = (
        "set",
        "baseline",
        *(f"budget {budget}" for budget in SHOWN),
        "everything read",
        "out-of-bag",
        "out-of-bag − test, points",
    )
    return table(heading, rows)


def write_pruning(results: Results) -> str:
    """The product's pruned tree less the one of section 7, cut by other code."""
    trees = beside(results, "trees")
    rows = []
    for title in measured(results, measured(trees, SETS)):
        ours = column(results, title, "decision_tree_all")
        other = column(trees, title, "pruned_unlimited")
        rows.append((title, signed(paired(ours, other))))
    return table(("set", "difference, points"), rows)


TABLES = {"baselines": write_baselines, "baselines-pruning": write_pruning}
