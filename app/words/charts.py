"""Charts as SVG that stands in a page: its colours are the page's, by name.

matplotlib is imported where a chart is drawn; no other command waits for it.
"""

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from textwrap import fill
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from core.arrays import FloatArray
from core.model.figures import ReliabilityBin
from core.model.model import Curve
from core.table.prices import MICROS_PER_UNIT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Drawn in these colours, which then are replaced by names that a style sheet sets.
INK, PAPER = "#010203", "#040506"
SERIES = ("#0a0001", "#0a0002", "#0a0003", "#0a0004", "#0a0005", "#0a0006")
NAMES = {INK: "currentColor", PAPER: "var(--paper)"} | {
    colour: f"var(--series-{number})" for number, colour in enumerate(SERIES, 1)
}
COLOURS = """
:root { --paper: #fff; --series-1: #1f5fa8; --series-2: #b3501c;
  --series-3: #2b7a3d; --series-4: #8a3f9b; --series-5: #8a6d00; --series-6: #666 }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #15181c; --series-1: #7db4f2; --series-2: #f0a074;
    --series-3: #7fcf93; --series-4: #d59be3; --series-5: #e0c352; --series-6: #aaa }
}
"""

# Width and height in inches of 72 points; of charts side by side the second.
WIDE, SMALL = (5.6, 3.2), (3.4, 2.8)
# Letters of a title, and of a name within what an axis is called, in a small chart.
LINE, PART = 34, 20

STYLES: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "askless",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "lines.solid_capstyle": "round",
}
# The settings of matplotlib are those of the whole process: one draws at a time.
DRAWING = Lock()
# What a page has no use for: the file's head, names that would stand twice, a size.
NEEDLESS = (
    re.compile(r"^.*?(?=<svg)", re.S),
    re.compile(r"<metadata>.*?</metadata>", re.S),
    re.compile(r'(?<=<g) id="[^"]*"'),
    re.compile(r' (?:width|height)="[0-9.]+pt"'),
    re.compile(r"(?<=font-family: )'[^;]*, (?=sans-serif)"),
)


class NamedCurve(NamedTuple):
    """A curve, and whose it is."""

    name: str
    curve: Curve


def curve_chart(
    curves: Sequence[NamedCurve],
    unit: str,
    size: tuple[float, float] = WIDE,
    baselines: Mapping[str, float] | None = None,
) -> str:
    """Draw error against mean spend, each curve with the band of its intervals.

    `baselines` are errors by name, to hold the curves against.
    """

    def paint(axes: "Axes") -> None:
        for colour, (name, curve) in zip(cycle(SERIES), curves, strict=False):
            spends = [spend / MICROS_PER_UNIT for spend in curve.mean_spends]
            lows, highs = 100 * np.array(curve.intervals).T
            errors = [100 * error for error in curve.errors_calibrated]
            axes.fill_between(spends, lows, highs, color=colour, alpha=0.18, lw=0)
            axes.plot(spends, errors, color=colour, marker="o", ms=3, label=cut(name))
        styles = cycle(("--", ":"))
        for (name, error), style in zip(
            (baselines or {}).items(), styles, strict=False
        ):
            axes.axhline(100 * error, color=INK, ls=style, lw=1, alpha=0.7, label=name)
        axes.set(xlabel=f"mean spend per case{in_unit(unit)}", ylabel="error (%)")
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.grid(color=INK, alpha=0.12, lw=0.6)
        if len(curves) > 1 or baselines:
            # No line runs through what is written there.
            axes.legend(frameon=True, facecolor=PAPER, edgecolor="none")

    names = " and ".join(one.name for one in curves)
    said = f"Error against mean spend of {names}, with 95 % bands"
    return draw_chart(paint, said, size)


def reliability_chart(bins: Sequence[ReliabilityBin], said: str, title: str) -> str:
    """Draw what came against what was said, with the interval of each bin."""

    def paint(axes: "Axes") -> None:
        axes.plot([0, 100], [0, 100], color=INK, alpha=0.5, lw=0.8, ls="--")
        for one in bins:
            chance, (low, high) = 100 * one.mean_chance, one.observed.interval or (0, 1)
            axes.plot([chance] * 2, [100 * low, 100 * high], color=SERIES[0], lw=1.2)
        axes.plot(
            [100 * one.mean_chance for one in bins],
            [100 * one.observed.value for one in bins],
            *("o",),
            color=SERIES[0],
            ms=4,
        )
        axes.set(
            xlabel=f"chance of {cut(said, PART)} (%)", ylabel="how often it came (%)"
        )
        axes.set(xlim=(0, 100), ylim=(0, 100), title=title)
        axes.grid(color=INK, alpha=0.12, lw=0.6)

    return draw_chart(paint, f"What came against the chance of {said}, {title}", SMALL)


class Effect(NamedTuple):
    """What the answers to one question do to the chances of classes."""

    title: str
    #: of a number the values, ascending; else how the answers are called
    answers: Sequence[float] | Sequence[str]
    #: (n_answers, n_classes)
    chances: FloatArray
    #: (n_classes,); without an answer
    without: FloatArray
    #: whether the chance jumps between two values, or goes from one to the next
    has_steps: bool


def effect_chart(effect: Effect, classes: Sequence[str]) -> str:
    """Draw the chance of each class by answer; dashed what it is without one."""

    def paint(axes: "Axes") -> None:
        is_number = not isinstance(effect.answers[0], str)
        for position, (colour, name) in enumerate(zip(SERIES, classes, strict=False)):
            chances = 100 * effect.chances[:, position]
            axes.axhline(100 * effect.without[position], color=colour, lw=0.8, ls="--")
            if is_number:
                style = "steps-mid" if effect.has_steps else "default"
                answers = np.array(effect.answers)
                axes.plot(answers, chances, color=colour, drawstyle=style)
            else:
                axes.plot(range(len(chances)), chances, "o", color=colour)
            axes.lines[-1].set_label(cut(name))
        if not is_number:
            turn, side = (30, "right") if len(effect.answers) > 2 else (0, "center")
            names = [cut(str(one), PART) for one in effect.answers]
            axes.set_xticks(range(len(names)), names, rotation=turn, ha=side)
            axes.set_xlim(-0.5, len(effect.answers) - 0.5)
        axes.set(ylim=(0, 100), ylabel="chance (%)")
        title = fill(effect.title, LINE, max_lines=3, placeholder=" …")
        axes.set_title(title, fontsize=10)
        if len(classes) == 1:
            axes.set_ylabel(f"chance of {cut(classes[0], PART)} (%)")
        else:
            axes.legend(fontsize=8)
        axes.grid(color=INK, alpha=0.12, lw=0.6)

    return draw_chart(paint, f"Chances by {effect.title}", SMALL)


def purchases_chart(
    features: Sequence[str], budgets: Sequence[str], shares: FloatArray, unit: str
) -> str:
    """Draw how often each feature is asked under each budget, the darker the oftener.

    `shares` (n_features, n_budgets).
    """

    def paint(axes: "Axes") -> None:
        for row, of_feature in enumerate(shares):
            for column, share in enumerate(of_feature):
                if share > 0:
                    place = [(column - 0.47, 0.94)], (row - 0.45, 0.9)
                    axes.broken_barh(*place, color=SERIES[0], alpha=share, lw=0)
        axes.set(xlim=(-0.5, len(budgets) - 0.5), ylim=(len(features) - 0.5, -0.5))
        axes.set_yticks(range(len(features)), map(cut, features))
        axes.set_xticks(range(len(budgets)), budgets, rotation=45, ha="right")
        axes.set_xlabel(f"budget{in_unit(unit)}")
        axes.tick_params(length=0)

    size = (WIDE[0], 0.9 + 0.22 * len(features))
    return draw_chart(paint, "How often each feature is asked, by budget", size)


def margin_chart(curves: Mapping[str, tuple[FloatArray, FloatArray]]) -> str:
    """Draw the share of cases by margin, a line for each budget.

    `curves` are margins, 0 to 1 and ascending, with the shares of the cases that have
    them.
    """

    def paint(axes: "Axes") -> None:
        for colour, (name, (margins, shares)) in zip(
            SERIES, curves.items(), strict=False
        ):
            ends = 100 * np.concatenate(([0.0], margins, [1.0]))
            parts = 100 * np.concatenate(([0.0], np.cumsum(shares), [shares.sum()]))
            axes.step(ends, parts, where="post", color=colour, label=name)
        axes.set(xlabel="margin (points of a percent)", ylabel="cases up to it (%)")
        axes.set(xlim=(0, 100), ylim=(0, 100))
        axes.grid(color=INK, alpha=0.12, lw=0.6)
        axes.legend()

    return draw_chart(paint, "Share of cases by margin, for some budgets")


def cut(name: str, most: int = LINE) -> str:
    """Return a name as it fits beside a chart; the table has all of it."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def stand_alone(svg: str, ink: str = "svg { color: #888 }") -> str:
    """Return a chart as a file of its own, with the colours that a page would set.

    `ink` is for paper of either colour, where nobody knows which it stands on.
    """
    head, end, rest = svg.partition(">")
    return f"{head}{end}<style>{COLOURS}{ink}</style>{rest}"


def in_unit(unit: str) -> str:
    return f" ({cut(unit, PART)})" if unit else ""


def draw_chart(
    paint: Callable[["Axes"], None], said: str, size: tuple[float, float] = WIDE
) -> str:
    """Return a chart as SVG; `said` is what it is for who can't see it."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with DRAWING, mpl.rc_context(), warnings.catch_warnings():
        # Whatever a matplotlibrc, or another module of this process, would have.
        mpl.rcdefaults()
        mpl.rcParams.update(STYLES)
        # The text stands in the file, and is written in the fonts of whoever looks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        figure.patch.set_visible(False)
        paint(figure.subplots())
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Title": said})
    svg = file.getvalue()
    for pattern in NEEDLESS:
        svg = pattern.sub("", svg)
    for colour, name in NAMES.items():
        svg = svg.replace(colour, name)
    return svg.replace("<svg", '<svg role="img"', 1)
