"""What the document says of decision trees (001, section 7)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from benchmarks.papers import document, plots
from benchmarks.papers.document import Verdict, column, listed, percent, signed, table
from benchmarks.papers.huang import BUDGETS
from benchmarks.papers.intervals import Interval, interval, rise_at_end
from benchmarks.papers.runs import Results
from benchmarks.papers.sets import SETS
from benchmarks.papers.trees import N_FOLDS, SIZES

SHOWN = (3, 7, 15, 31, 63, 127)
BUDGETS_SHOWN = (2, 6, 40)
BESIDE = ("huang",)


def titles(results: Results) -> list[str]:
    """Sets measured, in the paper's order."""
    return [title for title in SETS if title in document.measured(results)]


def figures(results: Results) -> dict[str, Figure]:
    """Figure 3, with AdaBoost as a line."""
    huang = beside(results)
    names = titles(results)
    figure, all_axes = plots.panels(len(names), 3)
    for axes, title in zip(all_axes, names, strict=True):
        curves = 100 * column(results, title, "sizes")[:, 1:]
        mean = curves.mean(axis=0)
        half = np.array([interval(one).half for one in curves.T])
        blue = plots.COLOURS["blue"]
        axes.fill_between(
            SIZES[1:], mean - half, mean + half, color=blue, alpha=0.2, lw=0
        )
        axes.plot(SIZES[1:], mean, color=blue, marker=".", label="one tree")
        if title in document.measured(huang):
            full = 100 * column(huang, title, "adaboost").mean()
            axes.axhline(full, color=plots.COLOURS["orange"], ls="--", label="AdaBoost")
        axes.set(title=title, xscale="log", ylim=(0, None))
        axes.set_xticks((3, 10, 30, 100), ("3", "10", "30", "100"))
        axes.minorticks_off()
    for axes in all_axes[::3]:
        axes.set_ylabel("test error, %")
    for axes in all_axes[-3:]:
        axes.set_xlabel("nodes at most")
    plots.legend_above(figure, all_axes[0], 2)
    return {"trees_nodes": figure}


def beside(results: Results) -> Results:
    """The boosted rules on the same rows and costs; without sets if not measured."""
    empty: Results = {"sets": {}}
    return results.get("beside", {}).get("huang", empty)


def rises(results: Results) -> dict[str, tuple[int, Interval]]:
    """Where each set's curve is lowest, and how far above it the whole tree is."""
    found = {}
    for title in titles(results):
        whole = column(results, title, "full_unlimited")
        curves = np.column_stack((column(results, title, "sizes"), whole))
        found[title] = rise_at_end(curves)
    return found


def verdicts(results: Results) -> list[Verdict]:
    """One per claim of section 7."""
    found = rises(results)
    sure = [title for title, (_, one) in found.items() if one.low > 0]
    verdicts = [
        Verdict(
            "001",
            "Decision trees overfit as they grow, on all sets",
            document_verdict(len(sure), len(found)),
            f"the whole tree errs surely more than its best pruning on {len(sure)} of "
            f"{len(found)} sets"
            + (
                ""
                if len(sure) == len(found)
                else f", not surely on {listed([t for t in found if t not in sure])}"
            ),
        )
    ]
    if document.measured(beside(results)):
        verdicts.append(judge_against_boosting(results))
    return verdicts


def document_verdict(n_for: int, n_all: int) -> str:
    if n_for == n_all:
        return "reproduced"
    return "partly" if n_for else "not reproduced"


def against(results: Results, title: str, rule: str, budget: int) -> Interval:
    """Error of a boosted rule less that of the pruned tree under a budget; paired."""
    idx = BUDGETS.index(budget)
    boosted = column(beside(results), title, rule)[:, idx]
    trees = column(results, title, "pruned")[:, idx]
    n_both = min(boosted.size, trees.size)
    return interval(boosted[:n_both] - trees[:n_both])


def judge_against_boosting(results: Results) -> Verdict:
    both = [
        title
        for title in titles(results)
        if title in document.measured(beside(results))
    ]
    late = {title: against(results, title, "smoothed", BUDGETS[-1]) for title in both}
    better = [title for title, one in late.items() if one.high < 0]
    worse = [title for title, one in late.items() if one.low > 0]
    early = [t for t in both if against(results, t, "smoothed", BUDGETS[0]).high < 0]
    return Verdict(
        "001",
        "Budgeted boosting outperforms pruned trees, above all at large budgets",
        "reproduced" if not worse and len(better) > len(both) / 2 else "partly",
        f"at {BUDGETS[-1]} Smoothed errs surely less than the pruned tree on "
        f"{len(better)} of {len(both)} sets, surely more on {listed(worse)}; at "
        f"{BUDGETS[0]} surely less on {len(early)}",
    )


def section(results: Results) -> str:
    """The document's section."""
    parts = [
        "## 001, section 7: one decision tree",
        "scikit-learn's `DecisionTreeClassifier`, grown to the end and cut back by "
        f"its weakest links; {document.repetitions(results)} repetitions with the "
        "rows and costs of Figure 1. By size: the largest tree of the pruning "
        "sequence with at most so many nodes. Under a budget a row pays along its "
        "own path and stops where it can't go on, with the majority there; “pruned” "
        f"takes the pruning that errs least over {N_FOLDS} folds of the training "
        "rows. No test row chooses anything; the paper says neither how its trees "
        "were grown nor how pruned.",
        "### Figure 3: error against nodes",
        "![Error against nodes](figures/trees_nodes.svg)",
        sizes_table(results),
        "### Trees under the budget",
        budgets_table(results),
    ]
    return "\n\n".join(parts)


def sizes_table(results: Results) -> str:
    rows = []
    for title, (lowest, rise) in rises(results).items():
        mean = column(results, title, "sizes").mean(axis=0)
        cells = [percent(mean[SIZES.index(size)], 1) for size in SHOWN]
        whole = column(results, title, "full_unlimited").mean()
        nodes = column(results, title, "n_nodes").mean(axis=0)[0]
        rows.append(
            (
                title,
                *cells,
                f"{percent(whole, 1)} ({nodes:.0f})",
                f"≤ {SIZES[lowest]}" if lowest < len(SIZES) else "whole",
                signed(rise),
            )
        )
    heading = (
        "set",
        *(f"≤ {size} nodes" for size in SHOWN),
        "whole (nodes)",
        "best size",
        "whole − best, points",
    )
    return (
        "Test error in percent. The best size is chosen on every other repetition and "
        "the rise measured on the rest.\n\n" + table(heading, rows)
    )


def budgets_table(results: Results) -> str:
    huang = beside(results)
    rows = []
    for title in titles(results):
        cells = []
        for budget in BUDGETS_SHOWN:
            idx = BUDGETS.index(budget)
            cells += [
                percent(column(results, title, key)[:, idx].mean(), 1)
                for key in ("full", "pruned")
            ]
            if title in document.measured(huang):
                cells.append(
                    percent(column(huang, title, "smoothed")[:, idx].mean(), 1)
                )
                cells.append(signed(against(results, title, "smoothed", budget), 1))
            else:
                cells += ["", ""]
        rows.append((title, *cells))
    heading = ["set"]
    for budget in BUDGETS_SHOWN:
        names = ("whole tree", "pruned", "Smoothed", "Smoothed − pruned")
        heading += [f"{name}, {budget}" for name in names]
    return "Test error in percent, differences paired:\n\n" + table(heading, rows)
