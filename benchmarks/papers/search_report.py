"""What the document says of the searches (004)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from benchmarks.papers import document, plots
from benchmarks.papers.document import Verdict, percent, records, signed, table
from benchmarks.papers.intervals import Interval, interval
from benchmarks.papers.runs import Results
from benchmarks.papers.search import LEARNERS, MARKS, SEARCHES, SETS
from core.types import FloatArray

COLOURS = dict(zip(SEARCHES, ("grey", "blue", "orange"), strict=True))
POINT = 0.01


def curves(results: Results, title: str, search: str, key: str) -> FloatArray:
    """A row per repetition, a column per mark."""
    return np.array([one[search][key] for one in records(results, title)])


def titles(results: Results) -> list[str]:
    """Sets and learners that were measured, in one order."""
    wanted = [f"{name} {learner}" for name in SETS for learner in LEARNERS]
    return [title for title in wanted if title in results["sets"]]


def marks(results: Results, title: str) -> list[int]:
    """The rounds at which errors were taken."""
    n_marks = curves(results, title, "all", "errors").shape[1]
    return list(MARKS[:n_marks])


def figures(results: Results) -> dict[str, Figure]:
    """Test error against seconds of boosting, each search a line."""
    names = titles(results)
    figure, all_axes = plots.panels(len(names), 3)
    for axes, title in zip(all_axes, names, strict=True):
        for search in SEARCHES:
            seconds = curves(results, title, search, "seconds").mean(axis=0)
            errors = 100 * curves(results, title, search, "errors").mean(axis=0)
            colour = plots.COLOURS[COLOURS[search]]
            axes.plot(seconds, errors, color=colour, marker=".", label=search)
        axes.set(title=title, xscale="log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    for axes in all_axes[::3]:
        axes.set_ylabel("test error, %")
    for axes in all_axes[-3:]:
        axes.set_xlabel("seconds of boosting")
    plots.legend_above(figure, all_axes[0], 3)
    return {"search_time": figure}


def difference(results: Results, title: str, search: str) -> Interval:
    """How far a search's last test error lies above that of the whole, paired."""
    ours = curves(results, title, search, "errors")[:, -1]
    return interval(ours - curves(results, title, "all", "errors")[:, -1])


def speed(results: Results, title: str, search: str) -> float:
    """How many times faster a search has finished, by medians."""
    ours = np.median(curves(results, title, search, "seconds")[:, -1])
    return float(np.median(curves(results, title, "all", "seconds")[:, -1]) / ours)


def verdicts(results: Results) -> list[Verdict]:
    """004's claim, which it makes of its own set."""
    names = document.measured(results)
    if not names:
        return []
    gaps = {title: difference(results, title, "ucb") for title in names}
    held = [title for title, gap in gaps.items() if gap.high <= POINT]
    faster = [title for title in names if speed(results, title, "ucb") > 1]
    verdict = "reproduced" if len(held) == len(faster) == len(names) else "partly"
    beaten = [
        title
        for title in names
        if difference(results, title, "ucb").mean
        < difference(results, title, "lazy").mean
    ]
    return [
        Verdict(
            "004",
            "UCB(k) cuts training time at little cost in error",
            verdict,
            f"faster in {len(faster)} of {len(names)} cases, and surely within a point "
            f"of the whole search in {len(held)}",
        ),
        Verdict(
            "004",
            "Learning which features pay beats drawing them blindly (LazyBoost)",
            "reproduced" if len(beaten) == len(names) else "partly",
            f"ucb ends at the lower mean error in {len(beaten)} of {len(names)} cases",
        ),
    ]


def section(results: Results) -> str:
    """Figure, tables and what differs from the paper."""
    settings = results["settings"]
    names = titles(results)
    rows = []
    for title in names:
        n_marks = marks(results, title)
        errors = {
            search: curves(results, title, search, "errors").mean(axis=0)
            for search in SEARCHES
        }
        for search in SEARCHES:
            seconds = np.median(curves(results, title, search, "seconds"), axis=0)
            gap = "" if search == "all" else signed(difference(results, title, search))
            rows.append(
                [
                    title if search == "all" else "",
                    search,
                    str(n_marks[-1]),
                    percent(errors[search][0]),
                    percent(errors[search][-1]),
                    gap,
                    f"{seconds[-1]:.2f}",
                    "" if search == "all" else f"{speed(results, title, search):.1f} ×",
                ]
            )
    heading = [
        "set and learner",
        "search",
        "rounds",
        f"error after {MARKS[0]}",
        "at the end",
        "above `all`",
        "seconds",
        "faster",
    ]
    return "\n\n".join(
        [
            "## 004: Kégl and Busa-Fekete, UCB(k)",
            f"All rows of ocr49 (13,782 × 196) and adult_onehot (48,842 rows), two "
            f"thirds to train; {document.repetitions(results)} splits; `adaboost`; "
            f"k = {settings['search_size']}; trees of {settings['leaves']} leaves, "
            f"products of {settings['factors']} stumps. Errors are means in percent, "
            "differences paired with 95 % intervals, seconds medians of boosting alone "
            "on one core. The paper's own figures are of the KDD Cup 2009 set (50,000 "
            "× 6,546), which we don't have, after 8,000 rounds; it gives no comparison "
            "with the whole search in numbers, so only its claims are judged.",
            "![Test error against seconds](figures/search_time.svg)",
            table(heading, rows),
            "The features of these sets have two or four values and share bytes, so "
            "that one pass over all of them for a stump costs about what looking at 20 "
            "does; the searches save time where trees look at their leaves' rows, and "
            "on many features of many values ([performance.md](performance.md)).",
        ]
    )
