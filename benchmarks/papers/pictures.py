"""The pictures of the document, by the part whose results they show."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from benchmarks import plots
from benchmarks.papers import huang_tables, margins, reyzin, search, search_tables
from benchmarks.papers import selection_findings as selection
from benchmarks.papers.huang import BUDGETS
from benchmarks.papers.results import beside, column, mean, measured
from benchmarks.papers.reyzin_tables import unread
from benchmarks.papers.runs import Results
from benchmarks.papers.sets import SETS
from benchmarks.papers.trees import SIZES
from benchmarks.plots import Line, draw_panels
from core.arrays import FloatArray

SEARCH_COLOURS = dict(
    zip(search.SEARCHES, ("grey", "blue", "pink", "orange"), strict=True)
)
SEARCH_LABELS = {
    "rounds": "rounds",
    "seconds": "seconds of boosting",
    "errors": "error, %",
}


def draw_draws(results: Results) -> Figure:
    """Reyzin's Figures 1 (with the features read) and 2 (logarithmic)."""
    marks, panels = reyzin.find_marks(), {}
    for title in measured(results, ("ocr17", "splice")):
        errors = 100 * column(results, title, "errors")
        full = float(100 * mean(results, title, "adaboost"))
        panels[title] = [
            Line("error, sampled", "blue", marks, errors),
            Line("error, AdaBoost", "grey", None, full, "--"),
        ]
    if "ocr17" in panels:
        share = column(results, "ocr17", "read").T / column(
            results, "ocr17", "n_features"
        )
        read = Line("features read", "orange", marks, 100 * share.mean(axis=1))
        panels["ocr17"].append(read)
    figure = draw_panels(panels, ("draws", "%"), shape=(2, 3, 2.5), ylim=(0, None))
    for axes, title in zip(figure.axes, panels, strict=False):
        kind = {"xlim": (0, 1000)} if title == "ocr17" else {"xscale": "log"}
        axes.set(**kind)
    return figure


def draw_unread(results: Results) -> Figure:
    """Share of features that no draw has read, beside the bounds for even draws."""
    styles = (
        ("measured", "blue", "-"),
        ("the paper's bound: even draws over all", "orange", "--"),
        ("even draws over those AdaBoost reads", "green", ":"),
    )
    panels = {}
    for title in measured(results, reyzin.TITLES):
        panels[title] = [
            Line(label, colour, reyzin.find_marks(), 100 * shares, dashes)
            for shares, (label, colour, dashes) in zip(
                unread(results, title), styles, strict=True
            )
        ]
    labels = ("draws", "% of features unread")
    settings = {"xscale": "log", "ylim": (0, 102)}
    return draw_panels(panels, labels, shape=(4, 3, 1.9), **settings)


def draw_by_features(results: Results) -> Figure:
    """Error by number of features read: sampled, deterministic, in training order."""
    styles = (
        ("sampled", "sampled (RS)", "orange", "-"),
        ("top", "features of most alpha", "green", "-"),
        ("top_rounds", "hypotheses of most alpha", "sky", "--"),
        ("prefix", "training order (BT)", "blue", "-"),
    )
    panels = {}
    for title in measured(results, reyzin.TITLES):
        full = float(100 * mean(results, title, "adaboost"))
        panels[title] = [
            *draw_curves(results, title, reyzin.COUNTS, styles, mean),
            Line("AdaBoost, all", "grey", None, full, ":"),
        ]
    settings = {"xscale": "log", "ylim": (0, 50), "ticks": (1, 4, 16, 64)}
    labels = ("features read", "test error, %")
    return draw_panels(panels, labels, shape=(4, 3, 1.9), **settings)


def draw_curves(
    results: Results,
    title: str,
    x: Sequence[int],
    styles: Sequence[tuple[str, str, str, str]],
    read: Callable[[Results, str, str], FloatArray],
) -> list[Line]:
    """A line in percent for each key, label, colour and dashes."""
    return [
        Line(label, colour, x, 100 * read(results, title, key), dashes)
        for key, label, colour, dashes in styles
    ]


def draw_margins(results: Results) -> Figure:
    """Distribution of margins after some numbers of rounds."""
    styles = [
        (f"{rows}_{count}", f"{count} rounds, {rows}", shade, dashes)
        for count, shade in zip(margins.ROUNDS, ("sky", "blue", "orange"), strict=True)
        for rows, dashes in (("train", "-"), ("test", ":"))
    ]
    panels = {
        title: draw_curves(results, title, margins.THETAS, styles, mean)
        for title in measured(results, reyzin.TITLES)
    }
    labels = ("margin at most", "% of rows")
    return draw_panels(panels, labels, shape=(4, 3, 2.1), xlim=(-0.6, 0.8))


def draw_bound(results: Results) -> Figure:
    """Corollary 3's two terms, beside the error that they bound and that of testing."""
    styles = (
        ("bound", "the two terms", "orange", "-"),
        ("sampled", "error on training rows, sampled", "green", "-"),
    )
    panels, tested = {}, beside(results, "reyzin")
    for title in measured(results, reyzin.TITLES):
        panels[title] = draw_curves(results, title, margins.DRAWS, styles, mean)
        if title in tested["sets"]:
            errors = 100 * mean(tested, title, "errors")
            line = Line(
                "on test rows, sampled", "blue", reyzin.find_marks(), errors, ":"
            )
            panels[title].append(line)
    settings = {"xscale": "log", "ylim": (0, 105)}
    return draw_panels(panels, ("draws", "%"), shape=(4, 3, 1.9), **settings)


def draw_budgets(results: Results) -> Figure:
    """Figure 1 of Huang, Powers and Reyzin (2015)."""
    styles = (
        ("rs", "RS (sampled)", "grey", "-"),
        ("bt", "BT", "blue", "-"),
        ("greedy", "Greedy", "orange", "-"),
        ("speedboost", "SpeedBoost", "yellow", "--"),
        ("smoothed", "Smoothed", "green", "-"),
    )
    panels = {
        title: draw_curves(results, title, BUDGETS, styles, column)
        for title in huang_tables.titles(results)
    }
    settings = {"xlim": (2, 40), "xticks": (2, 10, 20, 30, 40), "yscale": "log"}
    labels = ("budget", "test error, %")
    figure = draw_panels(panels, labels, shape=(3, 5, 1.9), **settings)
    for axes in figure.axes[: len(panels)]:
        axes.yaxis.set_major_locator(LogLocator(10, subs=(1, 1.5, 2, 3, 4, 5, 7)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_locator(NullLocator())
    return figure


def draw_nodes(results: Results) -> Figure:
    """Figure 3 of Huang, Powers and Reyzin (2015), with AdaBoost as a line."""
    panels, boosted = {}, beside(results, "huang")
    for title in measured(results, tuple(SETS)):
        curves = 100 * column(results, title, "sizes")[:, 1:]
        panels[title] = [Line("one tree", "blue", SIZES[1:], curves, marker=".")]
        if title in measured(boosted, tuple(SETS)):
            full = float(100 * mean(boosted, title, "adaboost"))
            panels[title].append(Line("AdaBoost", "orange", None, full, "--"))
    settings = {"xscale": "log", "ylim": (0, None), "ticks": (3, 10, 30, 100)}
    labels = ("nodes at most", "test error, %")
    return draw_panels(panels, labels, shape=(3, 2, 1.9), **settings)


def draw_searches(across: str, up: str, results: Results) -> Figure:
    """A panel per set and learner, a line per search."""
    panels = {
        title: [
            Line(
                one,
                SEARCH_COLOURS[one],
                search_tables.curve(results, title, one, across),
                search_tables.curve(results, title, one, up),
                marker=".",
            )
            for one in search.SEARCHES
        ]
        for title in search_tables.titles(results)
    }
    settings = {"xscale": "log"} | ({"yscale": "log"} if up == "seconds" else {})
    labels = (SEARCH_LABELS[across], SEARCH_LABELS[up])
    figure = draw_panels(panels, labels, shape=(3, 4, 1.9), **settings)
    for axes in figure.axes[: len(panels)]:
        axes.xaxis.set_minor_formatter(NullFormatter())
    return figure


def draw_gain(results: Results) -> Figure:
    """Figure 3 of Sebban and Nock (1999): a bar per data set, mean and median."""
    sets = selection.counted(selection.merge(results))
    gains = 100 * selection.saving(sets, "ifs2boost").gains
    figure, (axes,) = plots.make_axes(1, 1, 2.4)
    same = [selection.is_same(one, "ifs2boost") for one in sets.values()]
    colours = [plots.COLOURS["blue" if one else "orange"] for one in same]
    axes.bar(range(len(sets)), gains, color=colours)
    for value, style in ((gains.mean(), ":"), (np.median(gains), "-")):
        axes.axhline(float(value), color=plots.COLOURS["grey"], ls=style, lw=1)
    axes.set_yscale("symlog", linthresh=100)
    axes.set_xticks(range(len(sets)), list(sets), rotation=60, ha="right")
    axes.set_ylabel("relative gain, %")
    axes.set_title("blue: the same subset; orange: another; dotted: mean; line: median")
    return figure


PICTURES: dict[str, dict[str, Callable[[Results], Figure]]] = {
    "reyzin": {
        "reyzin_draws": draw_draws,
        "reyzin_unread": draw_unread,
        "reyzin_top": draw_by_features,
    },
    "margins": {"margins": draw_margins, "margins_bound": draw_bound},
    "huang": {"huang_budgets": draw_budgets},
    "trees": {"trees_nodes": draw_nodes},
    "selection": {"selection_gain": draw_gain},
    "search": {
        "search_error": partial(draw_searches, "rounds", "errors"),
        "search_seconds": partial(draw_searches, "rounds", "seconds"),
        "search_time": partial(draw_searches, "seconds", "errors"),
    },
}
