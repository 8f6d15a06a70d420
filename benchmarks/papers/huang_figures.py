"""Figure 1 of Huang, Powers and Reyzin (2015)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from benchmarks.papers import plots
from benchmarks.papers.document import (
    column,
)
from benchmarks.papers.huang import BUDGETS
from benchmarks.papers.huang_findings import titles
from benchmarks.papers.intervals import interval
from benchmarks.papers.runs import Results

LINES = (
    ("rs", "RS (sampled)", "grey", "-"),
    ("bt", "BT", "blue", "-"),
    ("greedy", "Greedy", "orange", "-"),
    ("speedboost", "SpeedBoost", "yellow", "--"),
    ("smoothed", "Smoothed", "green", "-"),
)


def figures(results: Results) -> dict[str, Figure]:
    """Figure 1."""
    names = titles(results)
    figure, all_axes = plots.panels(len(names), 3)
    for axes, title in zip(all_axes, names, strict=True):
        for key, label, colour, dashes in LINES:
            curves = 100 * column(results, title, key)
            mean = curves.mean(axis=0)
            half = np.array([interval(one).half for one in curves.T])
            shade = plots.COLOURS[colour]
            low = np.maximum(mean - half, mean / 2)
            axes.fill_between(BUDGETS, low, mean + half, color=shade, alpha=0.2, lw=0)
            axes.plot(BUDGETS, mean, color=shade, ls=dashes, label=label)
        axes.set(title=title, xlim=(2, 40), xticks=(2, 10, 20, 30, 40), yscale="log")
        axes.yaxis.set_major_locator(LogLocator(10, subs=(1, 1.5, 2, 3, 4, 5, 7)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_locator(NullLocator())
    for axes in all_axes[::3]:
        axes.set_ylabel("test error, %")
    for axes in all_axes[-3:]:
        axes.set_xlabel("budget")
    plots.legend_above(figure, all_axes[0], 5)
    return {"huang_budgets": figure}
