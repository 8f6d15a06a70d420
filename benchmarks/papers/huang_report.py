"""What the document says of Huang, Powers and Reyzin (2015), without the trees."""

from __future__ import annotations

from benchmarks.papers import document
from benchmarks.papers.document import (
    column,
    listed,
    percent,
    plus_minus,
    signed,
    table,
)
from benchmarks.papers.huang import BUDGETS, ROUNDS
from benchmarks.papers.huang_findings import HIGH, LOW, NAMES, difference, titles
from benchmarks.papers.intervals import interval
from benchmarks.papers.runs import Results
from benchmarks.papers.sets import LACKING, SETS

SHOWN = (2, 6, 12, 24, 40)

COLUMNS = ("rs", "bt", "greedy", "speedboost", "smoothed", "hybrid")


def section(results: Results) -> str:
    """The document's section."""
    parts = [
        "## 001 Huang, Powers and Reyzin (2015): Training-Time Optimization of a "
        "Budgeted Booster",
        "Stumps; costs uniform on [0, 2], drawn anew with the rows of each of "
        f"{document.repetitions(results)} repetitions (the paper: 100 of the four "
        "large sets, 400 of the small ones, where 100 make intervals twice as wide); "
        f"budgets 2, 4 … {BUDGETS[-1]} (the text names no last one); at most {ROUNDS} "
        "rounds (the one number of rounds the text gives). All algorithms see the "
        "same rows and costs, so differences are paired. RS draws from AdaBoost of "
        "the paper's “optimized” number of rounds, which was the best on the paper's "
        "test rows; we take it as published. BT is stopped by the budget alone. RS "
        "stops at the first draw that it can't pay, where Algorithm 2 of 000 stops as "
        "soon as some hypothesis, drawn or not, might not fit: with costs up to 2 ours "
        "goes on longer, and the comparison with BT is, if anything, kind to RS.",
        "The paper's numbers of features tell how it made them, which its text "
        "doesn't: every threshold between two values of a number is a feature of its "
        "own, with its own cost. That gives its 356, 11,196 and 8,114 features to "
        "the last one, and some 402 for the digits in 6,000 drawn rows.",
        "### Table 1: the sets",
        sets_table(results),
        lacking_words(results),
        "### Figure 1: error against budget",
        "![Error against budget](figures/huang_budgets.svg)\n\nTest error in "
        "percent, on a logarithmic axis where the paper gives RS one of its own; "
        "bands are 95 % intervals of the means.",
        budgets_table(results),
        "### Differences",
        differences_table(results),
        "### Open question of 000: uniform or non-uniform costs?",
        uniform_table(results),
        uniform_words(results),
    ]
    return "\n\n".join(one for one in parts if one)


def sets_table(results: Results) -> str:
    rows = []
    for title in titles(results):
        one = SETS[title]
        counts = column(results, title, "n_features")
        span = {f"{counts.min():.0f}", f"{counts.max():.0f}"}
        ours = "–".join(f"{int(one):,}" for one in sorted(span, key=int))
        rows.append(
            (
                title,
                one.name,
                ours,
                f"{one.n_features:,}",
                f"{one.n_train:,} / {one.n_test:,}",
                str(one.rounds),
                plus_minus(interval(column(results, title, "adaboost"))),
                one.note,
            )
        )
    heading = (
        "set",
        "file",
        "features",
        "paper",
        "train / test",
        "T",
        "AdaBoost's error, %",
        "what differs",
    )
    return table(heading, rows)


def lacking_words(results: Results) -> str:
    lines = [f"- {title}: {why}." for title, why in LACKING.items()]
    lines += [f"- {why}." for why in results["lacking"].values()]
    return "Lacking, so skipped:\n\n" + "\n".join(lines)


def budgets_table(results: Results) -> str:
    rows = []
    for title in titles(results):
        for budget in SHOWN:
            idx = BUDGETS.index(budget)
            cells = [
                plus_minus(interval(column(results, title, key)[:, idx]), 1)
                for key in COLUMNS
            ]
            rows.append((title if budget == SHOWN[0] else "", str(budget), *cells))
    heading = ("set", "budget", *(NAMES[key] for key in COLUMNS))
    return table(heading, rows)


def differences_table(results: Results) -> str:
    pairs = (
        ("bt", "rs", BUDGETS),
        ("greedy", "bt", LOW),
        ("greedy", "bt", HIGH),
        ("smoothed", "greedy", LOW),
        ("smoothed", "greedy", HIGH),
        ("speedboost", "greedy", BUDGETS),
        ("hybrid", "smoothed", BUDGETS),
    )
    rows = []
    for title in titles(results):
        cells = [signed(difference(results, title, *pair)) for pair in pairs]
        rows.append((title, *cells))
    heading = [
        f"{NAMES[one]} − {NAMES[other]}, {budgets[0]}–{budgets[-1]}"
        for one, other, budgets in pairs
    ]
    return (
        "Paired differences of error in points, mean over the budgets named; below 0 "
        "the first errs less. Hybrid, which the paper leaves to others, is ours "
        "(Greedy until what is unbought is poor, then Smoothed).\n\n"
        + table(("set", *heading), rows)
    )


def uniform_table(results: Results) -> str:
    shown = ("rs_unit", "rs", "bt_unit", "bt", "greedy", "smoothed")
    pairs = (
        ("rs", "rs_unit"),
        ("bt", "bt_unit"),
        ("greedy", "bt_unit"),
        ("smoothed", "bt_unit"),
    )
    rows = []
    for title in titles(results):
        means = [percent(column(results, title, key).mean(), 1) for key in shown]
        found = [signed(difference(results, title, *pair)) for pair in pairs]
        rows.append((title, *means, *found))
    names = {**NAMES, "rs_unit": "RS, all 1", "bt_unit": "BT, all 1"}
    heading = (
        "set",
        *(names[key] for key in shown),
        *(f"{names[one]} − {names[other]}" for one, other in pairs),
    )
    return (
        f"Mean error in percent over the budgets 2 to {BUDGETS[-1]}; “all 1” with "
        "every cost 1, else costs uniform on [0, 2], of mean 1 too:\n\n"
        + table(heading, rows)
    )


def uniform_words(results: Results) -> str:
    def sure(one: str, other: str, sign: int) -> str:
        found = {t: difference(results, t, one, other) for t in titles(results)}
        return listed([t for t, d in found.items() if sign * d.mean > d.half])

    return (
        "Sampling is blind to costs: where they differ it errs surely more on "
        f"{sure('rs', 'rs_unit', 1)}, surely less on {sure('rs', 'rs_unit', -1)}. "
        "Rules that see the costs while they train turn their spread to use: for the "
        "same money Greedy errs surely less than BT at even costs on "
        f"{sure('greedy', 'bt_unit', -1)} (surely more on "
        f"{sure('greedy', 'bt_unit', 1)}), Smoothed on "
        f"{sure('smoothed', 'bt_unit', -1)} (surely more on "
        f"{sure('smoothed', 'bt_unit', 1)})."
    )
