"""Charts of models and cases, as SVG in the colours of the page around it."""

from collections.abc import Mapping, Sequence
from itertools import cycle, pairwise
from typing import NamedTuple

import numpy as np

from askless.app.words.charts.plot import (
    FONT,
    Axis,
    LegendEntry,
    Plot,
    make_name_axis,
    make_number_axis,
    row_height,
)
from askless.app.words.charts.svg import INK, SERIES, cut_to_width
from askless.app.words.wording import percent
from askless.core.arrays import FloatArray
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.model.figures import ReliabilityBin
from askless.core.model.model import Curve

# Width and height; of charts side by side the second.
WIDE, SMALL, LOW = (460, 320), (380, 310), (420, 200)
# Width of a name within the name of an axis.
PART = 150
PERCENTS = Axis((0, 100), [(tick, str(tick)) for tick in range(0, 101, 20)])
MOST_LABELS = 7


class NamedCurve(NamedTuple):
    """A curve with the name of its model or of its rows."""

    name: str
    curve: Curve


def draw_curves(
    curves: Sequence[NamedCurve],
    unit: str,
    size: tuple[int, int] = WIDE,
    baselines: Mapping[str, float] | None = None,
) -> str:
    """Draw error against mean spend, each curve with the band of its intervals.

    `baselines` are errors by name, drawn as level lines to compare the curves with.
    """
    levels = [
        LegendEntry(name, INK, dashes)
        for name, dashes in zip(baselines or {}, cycle(("6 4", "2 3")), strict=False)
    ]
    coloured = list(zip(cycle(SERIES), curves, strict=False))
    legend = [
        LegendEntry(named_curve.name, colour) for colour, named_curve in coloured
    ] + levels
    tops = [high for curve in curves for _, high in curve.curve.intervals]
    # The axes end 4 % above the largest value.
    most = max(spend for curve in curves for spend in curve.curve.mean_spends)
    plot = Plot(
        size,
        make_number_axis(
            0, 1.04 * most / MICROS_PER_UNIT, f"mean spend{in_unit(unit)}"
        ),
        make_number_axis(
            0, 104 * max([*tops, *(baselines or {}).values()]), "wrong, of 100"
        ),
        legend=legend if len(legend) > 1 else (),
    )
    for colour, (_, curve) in coloured:
        spends = [spend / MICROS_PER_UNIT for spend in curve.mean_spends]
        lows, highs = (100 * np.array(curve.intervals).T).tolist()
        errors = [100 * error for error in curve.errors_calibrated]
        points = list(zip(spends, errors, strict=True))
        plot.add_band(spends, lows, highs, colour)
        plot.add_line(points, colour)
        plot.add_dots(points, colour)
    for entry, error in zip(levels, (baselines or {}).values(), strict=True):
        look = {"stroke_dasharray": entry.dashes, "stroke_width": 1}
        ends = plot.x.ends
        plot.add_line([(end, 100 * error) for end in ends], INK, **look)
    names = " and ".join(curve.name for curve in curves)
    return plot.write(f"Error against mean spend of {names}, with 95 % bands")


def draw_reliability(bins: Sequence[ReliabilityBin], event: str, title: str) -> str:
    """Draw how often an event came against its predicted chance, with intervals."""
    x_name = f"chance of {cut_to_width(event, PART, FONT)} (%)"
    axes = (PERCENTS._replace(name=text) for text in (x_name, "how often it came (%)"))
    plot = Plot(SMALL, *axes, title=title)
    plot.add_line([(0, 0), (100, 100)], INK, stroke_dasharray="6 4", stroke_width=1)
    for chance_bin in bins:
        chance, (low, high) = (
            100 * chance_bin.mean_chance,
            chance_bin.observed.interval or (0, 1),
        )
        plot.add_line([(chance, 100 * low), (chance, 100 * high)], SERIES[0])
    points = [
        (100 * chance_bin.mean_chance, 100 * chance_bin.observed.value)
        for chance_bin in bins
    ]
    plot.add_dots(points, SERIES[0], 4)
    label = f"What came against the chance of {event}, {title}"
    return plot.write(label, class_="narrow-chart")


def draw_prospect(now: float, answers: Sequence[tuple[str, float]], event: str) -> str:
    """Draw the chance of an event after each answer, and a level line of it now."""
    names = [name for name, _ in answers]
    x = PERCENTS._replace(name=f"chance of {cut_to_width(event, PART, FONT)} (%)")
    size = (SMALL[0], 60 + row_height(names) * len(names))
    plot = Plot(size, x, make_name_axis(names, is_down=True))
    plot.add_line(
        [(100 * now, end) for end in plot.y.ends], INK, stroke_dasharray="6 4"
    )
    for row, (_, chance) in enumerate(answers):
        plot.add_line([(100 * now, row), (100 * chance, row)], SERIES[0])
    points = [(100 * chance, row) for row, (_, chance) in enumerate(answers)]
    plot.add_dots(points, SERIES[0], 5)
    chances = ", ".join(f"{name} {percent(chance)}" for name, chance in answers)
    label = f"Chance of {event}: now {percent(now)}; after the answer {chances}"
    return plot.write(label, class_="narrow-chart")


class Effect(NamedTuple):
    """Effects of the answers to one question on the chances of classes."""

    title: str
    #: the values of a number, ascending; else the names of the answers
    answers: Sequence[float] | Sequence[str]
    #: (n_answers, n_classes)
    chances: FloatArray
    #: (n_classes,); without an answer
    without: FloatArray
    #: whether the chance jumps half-way between two values, or changes linearly
    has_steps: bool


def draw_effect(effect: Effect, classes: Sequence[str]) -> str:
    """Draw the chance of each class by answer; dashed lines are without an answer."""
    is_number = not isinstance(effect.answers[0], str)
    values = [float(answer) for answer in effect.answers] if is_number else []
    names = [str(answer) for answer in effect.answers]
    has_one = len(classes) == 1
    of_class = f" of {cut_to_width(classes[0], PART, FONT)}" if has_one else ""
    plot = Plot(
        SMALL,
        make_number_axis(values[0], values[-1], "", 5)
        if is_number
        else make_name_axis(names),
        PERCENTS._replace(name=f"chance{of_class} (%)"),
        title=effect.title,
        legend=()
        if has_one
        else [
            LegendEntry(*named_colour)
            for named_colour in zip(classes, SERIES, strict=False)
        ],
    )
    for position, colour in enumerate(SERIES[: len(classes)]):
        chances = (100 * effect.chances[:, position]).tolist()
        level = 100 * float(effect.without[position])
        look = {"stroke_dasharray": "6 4", "stroke_width": 1}
        plot.add_line([(end, level) for end in plot.x.ends], colour, **look)
        if not is_number:
            plot.add_dots(list(enumerate(chances)), colour, 4)
        elif effect.has_steps:
            plot.add_line(make_steps(values, chances), colour)
        else:
            plot.add_line(zip(values, chances, strict=True), colour)
    return plot.write(f"Chances by {effect.title}", class_="narrow-chart")


def make_steps(xs: Sequence[float], ys: Sequence[float]) -> list[tuple[float, float]]:
    """Return the corners of a line that changes half-way between two points."""
    middles = [(x + other) / 2 for x, other in pairwise(xs)]
    starts, ends = [xs[0], *middles], [*middles, xs[-1]]
    return [
        (x, y)
        for start, end, y in zip(starts, ends, ys, strict=True)
        for x in (start, end)
    ]


def draw_purchases(
    features: Sequence[str], budgets: Sequence[str], shares: FloatArray, unit: str
) -> str:
    """Draw how often features are asked, (n_features, n_budgets), as shades."""
    size = WIDE[0], 110 + row_height(features) * len(features)
    x = make_name_axis(budgets, f"budget{in_unit(unit)}")
    plot = Plot(size, x, make_name_axis(features, is_down=True))
    for row, column in np.argwhere(shares > 0).tolist():
        corners = (column - 0.47, row - 0.45), (column + 0.47, row + 0.45)
        plot.add_bar(*corners, SERIES[0], float(shares[row, column]))
    return plot.write("How often each feature is asked, by budget")


def draw_margins(curves: Mapping[str, tuple[FloatArray, FloatArray]]) -> str:
    """Draw the share of cases by margin, a line for each budget.

    `curves` are margins, 0 to 1 and ascending, with the shares of the cases that have
    them.
    """
    legend = [
        LegendEntry(*named_colour) for named_colour in zip(curves, SERIES, strict=False)
    ]
    x = PERCENTS._replace(name="margin (percentage points)")
    plot = Plot(WIDE, x, PERCENTS._replace(name="cases up to it (%)"), legend=legend)
    for entry, (margins, shares) in zip(legend, curves.values(), strict=False):
        points, reached = [(0.0, 0.0)], 0.0
        for margin, share in zip(margins.tolist(), shares.tolist(), strict=True):
            points += [(100 * margin, reached), (100 * margin, reached + 100 * share)]
            reached += 100 * share
        plot.add_line([*points, (100.0, reached)], entry.colour)
    return plot.write("Share of cases by margin, for some budgets")


class Line(NamedTuple):
    """Shares from 0 to 1 in a row, each with its label."""

    values: Sequence[float]
    labels: Sequence[str]
    description: str
    x_name: str
    y_name: str
    #: 95 % interval of each value, drawn as a band; () where there are none
    intervals: Sequence[tuple[float, float]] = ()
    #: where the first and the last value are drawn; None: where there is room
    sides: tuple[float, float] | None = None


def draw_line_chart(line: Line, top: float = 1.0) -> str:
    """Draw shares in a row, joined by a line; `top` is the end of their axis."""
    last = max(1, len(line.values) - 1)
    every = -(-len(line.labels) // MOST_LABELS)
    labels = list(enumerate(line.labels))[::every]
    marks = [(value, percent(value)) for value in (0.0, top / 2, top)]
    room = 0.2 if line.sides is None else 0.0
    x = Axis((-room, last + room), labels, line.x_name, has_grid=False)
    plot = Plot(LOW, x, Axis((0.0, top), marks, line.y_name), sides=line.sides)
    if line.intervals:
        lows, highs = ([interval[end] for interval in line.intervals] for end in (0, 1))
        plot.add_band(range(len(lows)), lows, highs, SERIES[0])
    points = list(enumerate(line.values))
    plot.add_line(points, SERIES[0])
    plot.add_dots(points, SERIES[0], 4)
    return plot.write(line.description, class_="small-chart")


def in_unit(unit: str) -> str:
    return f" ({cut_to_width(unit, PART, FONT)})" if unit else ""
