"""Charts of ledger, monitor and challenge: figures by day, by name, by case."""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from askless.app.words.charts.charts import PERCENTS, WIDE, in_unit
from askless.app.words.charts.plot import (
    Plot,
    make_day_axis,
    make_name_axis,
    make_number_axis,
    row_height,
)
from askless.app.words.charts.svg import INK, SERIES


class PlottedFigure(NamedTuple):
    """A figure, and its interval where there is one."""

    value: float
    interval: tuple[float, float] | None = None


def draw_days_chart(amounts: Sequence[tuple[date, float]], unit: str, part: str) -> str:
    """Draw an amount for each day or month; `part` says which."""
    # Half the width of a bar, in days.
    half = 12.0 if part == "month" else 0.4
    x = make_day_axis([day for day, _ in amounts], f"{part} (UTC)", 1.2 * half)
    ends = amount_ends([amount for _, amount in amounts])
    plot = Plot(WIDE, x, make_number_axis(*ends, f"spend{in_unit(unit)}"))
    for day, amount in amounts:
        middle = day.toordinal()
        plot.add_bar((middle - half, 0.0), (middle + half, amount), SERIES[0])
    plot.add_line([(end, 0.0) for end in x.ends], INK, stroke_width=1)
    return plot.write(f"Spend by {part}{in_unit(unit)}")


def draw_names_chart(amounts: Sequence[tuple[str, float]], unit: str, noun: str) -> str:
    """Draw an amount for each of some names, the first on top."""
    ends = amount_ends([amount for _, amount in amounts])
    y = make_name_axis([name for name, _ in amounts], is_down=True)
    plot = Plot(
        names_size([name for name, _ in amounts]),
        make_number_axis(*ends, f"spend{in_unit(unit)}"),
        y,
    )
    for row, (_, amount) in enumerate(amounts):
        plot.add_bar((0.0, row - 0.35), (amount, row + 0.35), SERIES[0])
    plot.add_line([(0.0, end) for end in y.ends], INK, stroke_width=1)
    return plot.write(f"Spend by {noun}{in_unit(unit)}")


def draw_trend_chart(points: Sequence[tuple[date, PlottedFigure]], name: str) -> str:
    """Draw a figure over time, with its intervals; `name` has its unit."""
    x = make_day_axis([day for day, _ in points], "sessions that began from (UTC)")
    tops = [max(point.value, *(point.interval or (0.0,))) for _, point in points]
    plot = Plot(WIDE, x, make_number_axis(0.0, 1.04 * max(tops), name))
    for day, point in points:
        if point.interval is not None:
            ends = [(day.toordinal(), end) for end in point.interval]
            plot.add_line(ends, SERIES[0])
    values = [(float(day.toordinal()), point.value) for day, point in points]
    plot.add_line(values, SERIES[0], stroke_width=1)
    plot.add_dots(values, SERIES[0], 4)
    return plot.write(f"{name} over time, with 95 % intervals")


def draw_shares_chart(points: Sequence[tuple[str, PlottedFigure]], name: str) -> str:
    """Draw a share for each of some names, with its interval; values from 0 to 1."""
    x = PERCENTS._replace(ends=(-2, 102), name=f"{name} (%)")
    y = make_name_axis([name for name, _ in points], is_down=True)
    plot = Plot(names_size([name for name, _ in points]), x, y)
    for row, (_, point) in enumerate(points):
        if point.interval is not None:
            plot.add_line([(100 * end, row) for end in point.interval], SERIES[0])
    values = [(100 * point.value, row) for row, (_, point) in enumerate(points)]
    plot.add_dots(values, SERIES[0], 4)
    return plot.write(f"{name} by feature, with 95 % intervals")


class PlottedGap(NamedTuple):
    """A mean difference after some cases, and its bounds."""

    n_cases: int
    value: float
    low: float
    high: float


def draw_gap_chart(gaps: Sequence[PlottedGap], margin: float) -> str:
    """Draw how the difference of two losses goes on, in points, with its bounds."""
    last = gaps[-1]
    # Bounds of the first cases would leave no room for all the others.
    most = max(5.0, *(200 * abs(value) for value in (last.low, last.high, last.value)))
    x = make_number_axis(0.0, 1.02 * last.n_cases, "cases compared")
    plot = Plot(WIDE, x, make_number_axis(-most, most, "loss lower by (points)"))
    xs = [float(gap.n_cases) for gap in gaps]
    lows, highs = ([100 * gap[place] for gap in gaps] for place in (2, 3))
    plot.add_band(xs, lows, highs, SERIES[0])
    plot.add_line([(end, 0.0) for end in x.ends], INK, stroke_width=1)
    if margin:
        dashed = [(end, 100 * margin) for end in x.ends]
        plot.add_line(dashed, INK, stroke_width=1, stroke_dasharray="4 3")
    values = [(float(gap.n_cases), 100 * gap.value) for gap in gaps]
    plot.add_line(values, SERIES[0])
    plot.add_dots(values[-1:], SERIES[0], 4)
    return plot.write("By how much the challenger's loss is lower, with its bounds")


def names_size(names: Sequence[str]) -> tuple[int, int]:
    """Return the size of a chart with a row for each name."""
    return WIDE[0], 80 + row_height(names) * len(names)


def amount_ends(amounts: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis that has all amounts, and 0."""
    return 1.04 * min(0.0, *amounts), 1.04 * max(0.0, *amounts)
