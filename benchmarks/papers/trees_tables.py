"""Decision trees (001, section 7), as tables and verdicts."""

import numpy as np

from benchmarks.documents import Rows, listed, percent, signed
from benchmarks.intervals import Interval, rise_at_end, sides
from benchmarks.papers.huang import BUDGETS
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
from benchmarks.papers.sets import SETS
from benchmarks.papers.trees import SIZES

SHOWN = (3, 7, 15, 31, 63, 127)
BUDGETS_SHOWN = (2, 6, 40)


def titles(results: Results) -> list[str]:
    """Sets measured, in the paper's order."""
    return measured(results, tuple(SETS))


def find_rises(results: Results) -> dict[str, tuple[int, Interval]]:
    """Where each set's curve is lowest, and how far above it the whole tree is."""
    found = {}
    for title in titles(results):
        whole = column(results, title, "full_unlimited")
        curves = np.column_stack((column(results, title, "sizes"), whole))
        found[title] = rise_at_end(curves)
    return found


def compare(results: Results, title: str, budget: int) -> Interval:
    """Error of Smoothed less that of the pruned tree under a budget; paired."""
    idx = BUDGETS.index(budget)
    boosted = column(beside(results, "huang"), title, "smoothed")[:, idx]
    return paired(boosted, column(results, title, "pruned")[:, idx])


def judge_growth(results: Results) -> Verdict:
    """Whether the whole tree surely errs more than its best pruning."""
    is_sure = {title: one.low > 0 for title, (_, one) in find_rises(results).items()}
    rest = [title for title, one in is_sure.items() if not one]
    return grade(list(is_sure.values())), (
        "the whole tree errs surely more than its best pruning on "
        f"{sum(is_sure.values())} of {len(is_sure)} sets, not surely on {listed(rest)}"
    )


def judge_boosting(results: Results) -> Verdict | None:
    """Smoothed beside the pruned tree under the largest budget and the least."""
    both = measured(beside(results, "huang"), titles(results))
    late, early = (
        sides({title: compare(results, title, budget) for title in both})
        for budget in (BUDGETS[-1], BUDGETS[0])
    )
    is_better = not late.more and len(late.less) > len(both) / 2
    text = (
        f"Smoothed errs surely less than the pruned tree at {BUDGETS[-1]} on "
        f"{len(late.less)} of {len(both)} sets, surely more on {listed(late.more)}; at "
        f"{BUDGETS[0]} surely less on {len(early.less)}"
    )
    return ("reproduced" if is_better else "partly", text) if both else None


def write_sizes(results: Results) -> Rows:
    rows = []
    for title, (lowest, rise) in find_rises(results).items():
        curve = mean(results, title, "sizes")
        cells = [percent(curve[SIZES.index(size)], 1) for size in SHOWN]
        whole = percent(float(mean(results, title, "full_unlimited")), 1)
        nodes = mean(results, title, "n_nodes")[0]
        best = f"≤ {SIZES[lowest]}" if lowest < len(SIZES) else "whole"
        rows.append((title, *cells, f"{whole} ({nodes:.0f})", best, signed(rise)))
    return rows


def write_budgets(results: Results) -> Rows:
    huang = beside(results, "huang")
    rows = []
    for title in titles(results):
        cells = []
        for budget in BUDGETS_SHOWN:
            idx = BUDGETS.index(budget)
            ours = [mean(results, title, key)[idx] for key in ("full", "pruned")]
            cells += [percent(one, 1) for one in ours]
            if title in titles(huang):
                cells.append(percent(mean(huang, title, "smoothed")[idx], 1))
                cells.append(signed(compare(results, title, budget), 1))
            else:
                cells += ["", ""]
        rows.append((title, *cells))
    return rows


TABLES = {"trees-sizes": write_sizes, "trees-budgets": write_budgets}
JUDGES = {"growth": judge_growth, "boosting": judge_boosting}
