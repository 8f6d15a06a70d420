"""What the document says of the product's baselines."""

from __future__ import annotations

from benchmarks.papers import document
from benchmarks.papers.baselines import BUDGETS, SETS, TREES
from benchmarks.papers.document import (
    Verdict,
    column,
    listed,
    percent,
    plus_minus,
    signed,
    table,
)
from benchmarks.papers.intervals import Interval, interval
from benchmarks.papers.runs import Results

BESIDE = ("trees",)
NAMES = {
    "decision_tree": "one pruned tree",
    "bagging": "bagging",
    "random_forest": "random forest",
}
BAGGED = ("bagging", "random_forest")
SHOWN = (2, 6, 40)

# How near the out-of-bag error must surely be to count as an estimate.
NEAR = 0.02


def titles(results: Results) -> list[str]:
    """Sets measured, in the order of `SETS`."""
    return [title for title in SETS if title in document.measured(results)]


def gap(results: Results, title: str, name: str) -> Interval:
    """Out-of-bag error less the error on the test rows; paired."""
    all_read = column(results, title, f"{name}_all")
    return interval(column(results, title, f"{name}_out_of_bag") - all_read)


def verdicts(results: Results) -> list[Verdict]:
    """Do the rows left out say what the test rows do, within `NEAR`?"""
    gaps = {
        f"{title}, {NAMES[name]}": gap(results, title, name)
        for title in titles(results)
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
            f"out-of-bag less test error is on the mean surely within "
            f"{100 * NEAR:.0f} points in {len(near)} of {len(gaps)} cases; surely "
            f"other than 0: {listed(biased)} (few of the trees vote on a row that "
            "they left out, so rather too high)",
        )
    ]


def section(results: Results) -> str:
    """The document's section."""
    parts = [
        "## Baselines of the product (001, section 7; 003)",
        "`decision_tree`, `bagging` and `random_forest` as the service trains them "
        f"(`core.pipeline.train`, `core.training.baselines`), {TREES} trees where "
        "there are several, "
        "asked path by path under the budget. The first "
        f"{document.repetitions(results)} repetitions of 001's rows and costs, so the "
        "intervals are wide. Errors in percent; “out-of-bag” judges each training row "
        "by the trees not grown on it.",
        baselines_table(results),
        tree_words(results),
    ]
    return "\n\n".join(one for one in parts if one)


def baselines_table(results: Results) -> str:
    rows = []
    for title in titles(results):
        for name, words in NAMES.items():
            left_out = ["", ""]
            if name in BAGGED:
                errors = column(results, title, f"{name}_out_of_bag")
                left_out = [
                    plus_minus(interval(errors)),
                    signed(gap(results, title, name)),
                ]
            curves = column(results, title, name)
            cells = [
                percent(curves[:, BUDGETS.index(budget)].mean(), 1) for budget in SHOWN
            ]
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


def tree_words(results: Results) -> str:
    """The product's pruned tree beside the one of section 7, cut by other code."""
    beside: Results = results.get("beside", {}).get("trees", {"sets": {}})
    cells = []
    for title in titles(results):
        if title in document.measured(beside):
            ours = column(results, title, "decision_tree_all")
            other = column(beside, title, "pruned_unlimited")
            n_both = min(ours.size, other.size)
            cells.append(f"{title} {signed(interval(ours[:n_both] - other[:n_both]))}")
    if not cells:
        return ""
    return (
        "Section 7 above prunes by code of its own, because it measures every size at "
        "once. The product's pruned tree less that one, everything read, on the same "
        f"rows and in points: {listed(cells)}. Their folds and the alphas they try "
        "differ, and the product leaves a missing cell missing."
    )
