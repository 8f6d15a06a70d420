"""Figures of Reyzin (2010): 1 and 2, balls and bins, deterministic votes."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from benchmarks.papers import plots
from benchmarks.papers.document import (
    column,
)
from benchmarks.papers.intervals import interval
from benchmarks.papers.reyzin import COUNTS, find_marks
from benchmarks.papers.reyzin_findings import (
    titles,
    unread,
)
from benchmarks.papers.runs import Results


def figures(results: Results) -> dict[str, Figure]:
    """Figures 1 and 2; balls and bins; sampling beside deterministic votes."""
    drawn = {}
    if {"ocr17", "splice"} <= set(titles(results)):
        drawn["reyzin_draws"] = draw_errors(results)
    drawn["reyzin_unread"] = draw_unread(results)
    drawn["reyzin_top"] = draw_top(results)
    return drawn


def draw_errors(results: Results) -> Figure:
    """Figures 1 (ocr17, with the features read) and 2 (splice, logarithmic)."""
    figure, (left, right) = plots.panels(2, 2, 2.5)
    marks = find_marks()
    for axes, title in ((left, "ocr17"), (right, "splice")):
        errors = column(results, title, "errors")
        spread = np.array([interval(one).half for one in errors.T])
        mean = 100 * errors.mean(axis=0)
        full = column(results, title, "adaboost").mean()
        axes.fill_between(
            marks,
            mean - 100 * spread,
            mean + 100 * spread,
            color=plots.COLOURS["blue"],
            alpha=0.2,
            linewidth=0,
        )
        axes.plot(marks, mean, color=plots.COLOURS["blue"], label="error, sampled")
        axes.axhline(
            100 * full, color=plots.COLOURS["grey"], ls="--", label="error, AdaBoost"
        )
        axes.set(xlabel="draws", ylabel="%", title=title, ylim=(0, None))
    read = column(results, "ocr17", "read")
    share = 100 * read / column(results, "ocr17", "n_features")[:, None]
    left.plot(
        marks, share.mean(axis=0), color=plots.COLOURS["orange"], label="features read"
    )
    left.set(xlim=(0, 1000))
    right.set(xscale="log", xlabel="draws (logarithmic)")
    plots.legend_above(figure, left, 3)
    return figure


UNREAD_LINES = (
    ("measured", plots.COLOURS["blue"], "-"),
    ("the paper's bound: even draws over all", plots.COLOURS["orange"], "--"),
    ("even draws over those AdaBoost reads", plots.COLOURS["green"], ":"),
)


def draw_unread(results: Results) -> Figure:
    """Share of features that no draw has read, beside the bound for even draws."""
    names = titles(results)
    figure, all_axes = plots.panels(len(names), 4, 1.9)
    marks = find_marks()
    for axes, title in zip(all_axes, names, strict=True):
        lines = zip(unread(results, title), UNREAD_LINES, strict=True)
        for shares, (label, colour, dashes) in lines:
            axes.plot(marks, 100 * shares, color=colour, ls=dashes, label=label)
        axes.set(xscale="log", title=title, xlabel="draws", ylim=(0, 102))
    all_axes[0].set_ylabel("% of features unread")
    plots.legend_above(figure, all_axes[0], 3)
    return figure


def draw_top(results: Results) -> Figure:
    """Error by number of features read: sampled, deterministic, in training order."""
    names = titles(results)
    figure, all_axes = plots.panels(len(names), 4, 1.9)
    lines = (
        ("sampled", "sampled (RS)", "orange", "-"),
        ("top", "features of most alpha", "green", "-"),
        ("top_rounds", "hypotheses of most alpha", "sky", "--"),
        ("prefix", "training order (BT)", "blue", "-"),
    )
    for axes, title in zip(all_axes, names, strict=True):
        for key, label, colour, dashes in lines:
            mean = 100 * column(results, title, key).mean(axis=0)
            axes.plot(COUNTS, mean, color=plots.COLOURS[colour], ls=dashes, label=label)
        full = 100 * column(results, title, "adaboost").mean()
        axes.axhline(full, color=plots.COLOURS["grey"], ls=":", label="AdaBoost, all")
        axes.set(xscale="log", title=title, xlabel="features read", ylim=(0, 50))
        axes.set_xticks((1, 4, 16, 64), ("1", "4", "16", "64"))
        axes.minorticks_off()
    all_axes[0].set_ylabel("test error, %")
    plots.legend_above(figure, all_axes[0], 3)
    return figure
