"""The curves of the searches: error and time against rounds, error against time."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from benchmarks.papers import plots
from benchmarks.papers.runs import Results
from benchmarks.papers.search import SEARCHES
from benchmarks.papers.search_findings import curves, marks, titles
from core.arrays import FloatArray

COLOURS = dict(zip(SEARCHES, ("grey", "blue", "pink", "orange"), strict=True))
LABELS = {"rounds": "rounds", "seconds": "seconds of boosting", "errors": "error, %"}


def figures(results: Results) -> dict[str, Figure]:
    """Three figures, a panel per set and learner, a line per search."""
    if not titles(results):
        return {}
    return {
        "search_error": draw(results, "rounds", "errors"),
        "search_seconds": draw(results, "rounds", "seconds"),
        "search_time": draw(results, "seconds", "errors"),
    }


def draw(results: Results, across: str, up: str) -> Figure:
    names = titles(results)
    figure, all_axes = plots.panels(len(names), 3)
    for axes, title in zip(all_axes, names, strict=True):
        for search in SEARCHES:
            axes.plot(
                values(results, title, search, across),
                values(results, title, search, up),
                color=plots.COLOURS[COLOURS[search]],
                marker=".",
                label=search,
            )
        axes.set(title=title, xscale="log")
        if up == "seconds":
            axes.set_yscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    for axes in all_axes[::3]:
        axes.set_ylabel(LABELS[up])
    for axes in all_axes[-3:]:
        axes.set_xlabel(LABELS[across])
    plots.legend_above(figure, all_axes[0], len(SEARCHES))
    return figure


def values(results: Results, title: str, search: str, key: str) -> FloatArray:
    """Means over the repetitions, by mark."""
    if key == "rounds":
        return np.array(marks(results, title), dtype=np.float64)
    means = curves(results, title, search, key).mean(axis=0)
    return 100 * means if key == "errors" else means
