"""What the document says of Reyzin (2010)."""

from __future__ import annotations

import numpy as np

from benchmarks.papers import document
from benchmarks.papers.document import (
    column,
    listed,
    percent,
    plus_minus,
    signed,
    table,
)
from benchmarks.papers.intervals import interval
from benchmarks.papers.reyzin import COUNTS, EVERY, find_marks
from benchmarks.papers.reyzin_findings import (
    differences,
    fit_of_excess,
    titles,
    unread,
)
from benchmarks.papers.reyzin_tables import (
    bias_words,
    crossing_table,
    deviations,
    reading,
    sizes_table,
)
from benchmarks.papers.runs import Results

SHOWN = (11, 31, 101, 311, 1001, 2501)


def section(results: Results) -> str:
    """The document's section."""
    parts = [
        "## 000 Reyzin (2010): Boosting on a Feature Budget",
        f"AdaBoost on stumps, 500 rounds, 1,000 training rows; {len(titles(results))} "
        f"sets, {document.repetitions(results)} random splits each (the paper doesn't "
        "say how many). Every test row draws its own hypotheses; all costs are 1. The "
        "numbers of draws are odd, so that no vote is a tie: what a tie counts, the "
        "paper leaves open.",
        reading(results),
        "### Sizes and AdaBoost's error",
        sizes_table(results),
        "### Table 2: draws needed",
        crossing_table(results, "samples"),
        "### Table 3: percent of the features read by then",
        crossing_table(results, "read"),
        bias_words(results),
        deviations(results),
        "### Figures 1 and 2: error against draws",
        "![Error against draws](figures/reyzin_draws.svg)",
        draws_table(results),
        "### Balls and bins",
        "![Unread features](figures/reyzin_unread.svg)",
        bins_table(results),
        bins_words(results),
        "### Open question: deterministic votes of most weight, or sampling?",
        "![Error by features read](figures/reyzin_top.svg)",
        top_table(results),
        top_words(results),
        OTHER_QUESTIONS,
    ]
    return "\n\n".join(one for one in parts if one)


def draws_table(results: Results) -> str:
    marks = find_marks()
    idxs = [int(np.argmin(abs(marks - one))) for one in SHOWN]
    rows = []
    for title in titles(results):
        errors = column(results, title, "errors")
        cells = [plus_minus(interval(errors[:, idx]), 1) for idx in idxs]
        exponential, power = fit_of_excess(results, title)
        rows.append((title, *cells, f"{exponential:.2f}", f"{power:.2f}"))
    heading = (
        "set",
        *(f"{marks[idx]:,} draws" for idx in idxs),
        "R², exponential",
        "R², power",
    )
    return (
        "Test error in percent, and how a line fits the logarithm of the excess over "
        "AdaBoost, by the draws and by their logarithm:\n\n" + table(heading, rows)
    )


def bins_table(results: Results) -> str:
    """Measured and bounds at some numbers of draws."""
    marks = find_marks()
    rows = []
    for title in titles(results):
        shares = unread(results, title)
        n_features = column(results, title, "n_features").mean()
        idxs = [int(np.argmin(abs(marks - one))) for one in (31, 101, n_features, 1001)]
        cells = [" / ".join(percent(one[i], 1) for one in shares) for i in idxs]
        rows.append((title, f"{n_features:.0f}", *cells))
    heading = ("set", "n", "31 draws", "101 draws", "n draws", "1,001 draws")
    return (
        "Percent of the n features unread: measured / the paper's bound, even draws "
        "over all n / even draws over those that some round of AdaBoost reads. The "
        "rest can't be drawn at all; what the third figure leaves of the gap is the "
        "uneven alpha.\n\n" + table(heading, rows)
    )


def bins_words(results: Results) -> str:
    """Hoeffding's bound in figures."""
    mark = int(np.argmin(abs(find_marks()[::EVERY] - 101)))
    cells = []
    for title in titles(results):
        apart = column(results, title, "apart")[:, mark].mean()
        bound = column(results, title, "hoeffding")[:, mark].mean()
        cells.append(f"{title} {percent(apart, 1)} (bound {percent(bound, 1)})")
    return (
        f"Corollary 3 in figures: after {find_marks()[::EVERY][mark]} draws the "
        f"sampled vote differs from the full one on {listed(cells)} percent of the "
        "test rows."
    )


def top_table(results: Results) -> str:
    """Errors at some numbers of features, and the paired difference."""
    rows = []
    for title in titles(results):
        for count in (4, 16, 64):
            idx = COUNTS.index(count)
            cells = [
                percent(column(results, title, key)[:, idx].mean(), 1)
                for key in ("sampled", "top", "top_rounds", "prefix")
            ]
            difference = differences(results, title, "top_rounds", "sampled")[idx]
            rows.append((title, str(count), *cells, signed(difference, 1)))
    heading = (
        "set",
        "features",
        "sampled",
        "features of most alpha",
        "hypotheses of most alpha",
        "BT",
        "most alpha − sampled",
    )
    return table(heading, rows)


def top_words(results: Results) -> str:
    """What the columns mean, and the answer."""
    worse = [
        title
        for title in titles(results)
        if differences(results, title, "top", "sampled")[COUNTS.index(4)].low > 0
    ]
    trap = ""
    if worse:
        trap = (
            f" Taking the features instead is a trap with very few of them (worse than "
            f"sampling at 4 features on {listed(worse)}): all votes of a feature that "
            "AdaBoost came back to stand there without those that corrected them."
        )
    return (
        "“Features of most alpha” reads those whose hypotheses' alphas sum highest "
        "and lets all their votes count; “hypotheses of most alpha” takes them in "
        "the order of alpha while their features last. BT is the order of training."
        + trap
    )


OTHER_QUESTIONS = (
    "Uniform or non-uniform costs: see 001 below, where both are measured on the "
    "same trainings. The paper's other questions stay open here: whether sampling "
    "gains on sparse features and how it compares with Cesa-Bianchi et al. (2010) "
    "need data and an algorithm that Askless has not; which boosting algorithm suits "
    "the budget best is what 001 answers."
)
