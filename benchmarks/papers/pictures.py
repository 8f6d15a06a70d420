"""The pictures of the document, by the part whose results they show."""

from collections.abc import Callable, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from askless.core.arrays import FloatArray
from benchmarks.papers import margins, reyzin, search
from benchmarks.papers.huang import BUDGETS
from benchmarks.papers.results import SetResults, Sets, pick
from benchmarks.papers.reyzin_tables import unread
from benchmarks.papers.trees import SIZES
from benchmarks.plots import Line, draw_panels

#: Key, label, colour and dashes of a line.
Styles = Sequence[tuple[str, str, str, str]]

SEARCH_COLOURS = dict(
    zip(search.SEARCHES, ("grey", "blue", "pink", "orange"), strict=True)
)


def draw_curves(
    x: Sequence[int], styles: Styles, read: Callable[[str], FloatArray]
) -> list[Line]:
    """A line in percent for each style."""
    return [
        Line(label, colour, x, 100 * read(key), dashes)
        for key, label, colour, dashes in styles
    ]


def draw_full(
    found: SetResults, label: str = "AdaBoost", colour: str = "grey", dashes: str = "--"
) -> Line:
    """A level line: AdaBoost's error."""
    return Line(label, colour, None, float(100 * found.mean("adaboost")), dashes)


def draw_draws(sets: Sets) -> Figure:
    """Reyzin's Figures 1 (with the features read) and 2 (logarithmic)."""
    marks, panels = reyzin.find_marks(), {}
    for title, found in pick(sets, ("ocr17", "splice")).items():
        errors = 100 * found.column("errors")
        sampled = Line("error, sampled", "blue", marks, errors)
        panels[title] = [sampled, draw_full(found, "error, AdaBoost")]
        if title == "ocr17":
            share = found.column("read").T / found.column("n_features")
            read = Line("features read", "orange", marks, 100 * share.mean(axis=1))
            panels[title].append(read)
    figure = draw_panels(panels, ("draws", "%"), shape=(2, 3, 2.5), ylim=(0, None))
    for axes, title in zip(figure.axes, panels, strict=False):
        kind = {"xlim": (0, 1000)} if title == "ocr17" else {"xscale": "log"}
        axes.set(**kind)
    return figure


def draw_unread(sets: Sets) -> Figure:
    """Share of features that no draw has read, beside the bounds for even draws."""
    styles = (
        ("measured", "measured", "blue", "-"),
        ("even", "the paper's bound: even draws over all", "orange", "--"),
        ("even_used", "even draws over those AdaBoost reads", "green", ":"),
    )
    panels = {
        title: draw_curves(reyzin.find_marks(), styles, unread(found).__getitem__)
        for title, found in sets.items()
    }
    labels = ("draws", "% of features unread")
    settings = {"xscale": "log", "ylim": (0, 102)}
    return draw_panels(panels, labels, shape=(4, 3, 1.9), **settings)


def draw_by_features(sets: Sets) -> Figure:
    """Error by number of features read: sampled, deterministic, in training order."""
    styles = (
        ("sampled", "sampled (RS)", "orange", "-"),
        ("top", "features of most alpha", "green", "-"),
        ("top_rounds", "hypotheses of most alpha", "sky", "--"),
        ("prefix", "training order (BT)", "blue", "-"),
    )
    panels = {
        title: [
            *draw_curves(reyzin.COUNTS, styles, found.mean),
            draw_full(found, "AdaBoost, all", dashes=":"),
        ]
        for title, found in sets.items()
    }
    settings = {"xscale": "log", "ylim": (0, 50), "ticks": (1, 4, 16, 64)}
    labels = ("features read", "test error, %")
    return draw_panels(panels, labels, shape=(4, 3, 1.9), **settings)


def draw_margins(sets: Sets) -> Figure:
    """Distribution of margins after some numbers of rounds."""
    styles = [
        (f"{rows}_{count}", f"{count} rounds, {rows}", shade, dashes)
        for count, shade in zip(margins.ROUNDS, ("sky", "blue", "orange"), strict=True)
        for rows, dashes in (("train", "-"), ("test", ":"))
    ]
    panels = {t: draw_curves(margins.THETAS, styles, sets[t].mean) for t in sets}
    labels = ("margin at most", "% of rows")
    return draw_panels(panels, labels, shape=(4, 3, 2.1), xlim=(-0.6, 0.8))


def draw_bound(sets: Sets) -> Figure:
    """Corollary 3's two terms, beside the error that they bound and that of testing."""
    styles = (
        ("bound", "the two terms", "orange", "-"),
        ("sampled", "error on training rows, sampled", "green", "-"),
    )
    on_test = [("errors", "on test rows, sampled", "blue", ":")]
    panels = {}
    for title, found in sets.items():
        panels[title] = draw_curves(margins.DRAWS, styles, found.mean)
        if tested := found.beside("reyzin"):
            panels[title] += draw_curves(reyzin.find_marks(), on_test, tested.mean)
    settings = {"xscale": "log", "ylim": (0, 105)}
    return draw_panels(panels, ("draws", "%"), shape=(4, 3, 1.9), **settings)


def draw_budgets(sets: Sets) -> Figure:
    """Figure 1 of Huang, Powers and Reyzin (2015)."""
    styles = (
        ("rs", "RS (sampled)", "grey", "-"),
        ("bt", "BT", "blue", "-"),
        ("greedy", "Greedy", "orange", "-"),
        ("speedboost", "SpeedBoost", "yellow", "--"),
        ("smoothed", "Smoothed", "green", "-"),
    )
    panels = {t: draw_curves(BUDGETS, styles, sets[t].column) for t in sets}
    settings = {"xlim": (2, 40), "xticks": (2, 10, 20, 30, 40), "yscale": "log"}
    labels = ("budget", "test error, %")
    figure = draw_panels(panels, labels, shape=(3, 5, 1.9), **settings)
    for axes in figure.axes[: len(panels)]:
        axes.yaxis.set_major_locator(LogLocator(10, subs=(1, 1.5, 2, 3, 4, 5, 7)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_locator(NullLocator())
    return figure


def draw_nodes(sets: Sets) -> Figure:
    """Figure 3 of Huang, Powers and Reyzin (2015), with AdaBoost as a line."""
    panels = {}
    for title, found in sets.items():
        curves = 100 * found.column("sizes")[:, 1:]
        panels[title] = [Line("one tree", "blue", SIZES[1:], curves, marker=".")]
        if boosted := found.beside("huang"):
            panels[title].append(draw_full(boosted, colour="orange"))
    settings = {"xscale": "log", "ylim": (0, None), "ticks": (3, 10, 30, 100)}
    labels = ("nodes at most", "test error, %")
    return draw_panels(panels, labels, shape=(3, 2, 1.9), **settings)


def draw_searches(sets: Sets) -> Figure:
    """Error against seconds: a panel per set and learner, a line per search."""
    panels = {
        title: [
            Line(
                way,
                SEARCH_COLOURS[way],
                search.curve(found, way, "seconds"),
                search.curve(found, way, "errors"),
                marker=".",
            )
            for way in search.SEARCHES
        ]
        for title, found in sets.items()
    }
    labels = ("seconds of boosting", "error, %")
    figure = draw_panels(panels, labels, shape=(3, 4, 1.9), xscale="log")
    for axes in figure.axes[: len(panels)]:
        axes.xaxis.set_minor_formatter(NullFormatter())
    return figure


PICTURES: dict[str, dict[str, Callable[[Sets], Figure]]] = {
    "reyzin": {
        "reyzin_draws": draw_draws,
        "reyzin_unread": draw_unread,
        "reyzin_top": draw_by_features,
    },
    "margins": {"margins": draw_margins, "margins_bound": draw_bound},
    "huang": {"huang_budgets": draw_budgets},
    "trees": {"trees_nodes": draw_nodes},
    "search": {"search_time": draw_searches},
}
