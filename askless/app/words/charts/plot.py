"""A chart with two axes, drawn mark by mark in the coordinates of its data."""

import math
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from askless.app.words.charts.svg import (
    INK,
    cut_to_width,
    draw_element,
    draw_svg,
    draw_text,
    text_width,
    wrap_words,
)

# In pixels, at the size in which a chart is written.
FONT, LINE_HEIGHT, GAP = 13, 17, 6
# Widths of a name in a legend, and of a label beside or below an axis.
NAME_WIDTH, BESIDE, BELOW = 250, 190, 150
# Lines of a label beside an axis, at most, and the height of a row of one line.
MOST_LINES, ROW = 2, 26
# Labels below an axis that have no room beside one another are turned so far.
ANGLE = math.radians(35)
SWATCH = 20
# Days at both ends of an axis; a chart of one day would else be one broad bar.
LEAST_DAYS = 5


class Axis(NamedTuple):
    """An axis: its two ends, values with their labels, and its name."""

    ends: tuple[float, float]
    ticks: Sequence[tuple[float, str]]
    name: str = ""
    has_grid: bool = True


class LegendEntry(NamedTuple):
    name: str
    colour: str
    dashes: str | None = None


def make_number_axis(low: float, high: float, name: str, most_ticks: int = 6) -> Axis:
    """Return an axis of numbers with round ones marked: 1, 2 or 5 times 10^n apart."""
    high = high if high > low else low + 1.0
    least = (high - low) / most_ticks
    power = 10.0 ** math.floor(math.log10(least))
    # The small tolerances here keep a rounding error from adding or dropping a tick.
    step = next(
        factor * power for factor in (1, 2, 5, 10) if factor * power >= least * 0.999
    )
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [number * step for number in range(first, last + 1)]
    return Axis(
        (low, high), [(value, f"{value:,.{decimals}f}") for value in values], name
    )


def make_name_axis(
    names: Sequence[str], name: str = "", *, is_down: bool = False
) -> Axis:
    """Return an axis of names, one beside or, with `is_down`, below the other."""
    ends = (-0.5, len(names) - 0.5)
    ticks = list(enumerate(names))
    return Axis(ends[::-1] if is_down else ends, ticks, name, has_grid=False)


def make_day_axis(days: Sequence[date], name: str, least_room: float = 1.0) -> Axis:
    """Return an axis of days with some marked; `least_room` at its ends."""
    first, last = min(days).toordinal(), max(days).toordinal()
    room = max((LEAST_DAYS - (last - first)) / 2, least_room)
    step = max(1, -(-(last - first) // 5))
    shown = [date.fromordinal(day) for day in range(first, last + 1, step)]
    is_long = last - first > 300
    ticks = [
        (float(day.toordinal()), f"{day:%b %Y}" if is_long else f"{day.day} {day:%b}")
        for day in shown
    ]
    return Axis((first - room, last + room), ticks, name, has_grid=False)


def draw_legend(
    entries: Sequence[LegendEntry], ends: tuple[float, float], y: float
) -> tuple[list[str], float]:
    """Return a legend between two ends, in rows from `y` on, and where it ends."""
    left, right = ends
    # As if a row were full, so that the first entry begins one.
    marks, x = [], right
    for entry in entries:
        name = cut_to_width(entry.name, NAME_WIDTH, FONT)
        width = SWATCH + GAP + text_width(name, FONT)
        if x + width > right:
            x, y = left, y + LINE_HEIGHT
        marks.append(
            draw_element(
                "polyline",
                points=f"{x:.1f},{y - 4:.1f} {x + SWATCH:.1f},{y - 4:.1f}",
                stroke=entry.colour,
                stroke_width=2,
                stroke_dasharray=entry.dashes,
            )
        )
        marks.append(draw_text(name, x + SWATCH + GAP, y))
        x += width + 2 * GAP
    return marks, y


class Plot:
    """A chart in the making; marks are drawn above the axes, in the order of calls."""

    def __init__(
        self,
        size: tuple[int, int],
        x: Axis,
        y: Axis,
        *,
        title: str = "",
        legend: Sequence[LegendEntry] = (),
        sides: tuple[float, float] | None = None,
    ) -> None:
        self.size, self.x, self.y = size, x, y
        width, height = size
        beside = [line for _, label in y.ticks for line in wrap_label(label)]
        x_width = widest_text((label for _, label in x.ticks), BELOW)
        y_width = widest_text(beside, BESIDE)
        self.left = y_width + 2 * GAP + (LINE_HEIGHT if y.name else 0)
        room = (width - self.left) / max(1, len(x.ticks))
        self.is_turned = x_width > room
        last = text_width(x.ticks[-1][1], FONT) if x.ticks else 0.0
        self.right = width - max(2.0 * GAP, 0.0 if self.is_turned else last / 2)
        below = 0.0
        if self.is_turned:
            below = x_width * math.sin(ANGLE)
            # The first label must not begin left of the chart.
            self.left = max(self.left, x_width * math.cos(ANGLE) - room / 2)
        if sides is not None:
            self.left, self.right = sides
        named = LINE_HEIGHT + GAP if x.name else 0
        self.bottom = height - named - LINE_HEIGHT - GAP - below
        lines = wrap_words(title, width, FONT, 3)
        middle = width / 2 if len(lines) > 1 else (self.left + self.right) / 2
        self.marks = [
            draw_text(line, middle, number * LINE_HEIGHT, text_anchor="middle")
            for number, line in enumerate(lines, 1)
        ]
        top = len(lines) * float(LINE_HEIGHT)
        entries, top = draw_legend(legend, (self.left, self.right), top)
        self.top = max(top + GAP, LINE_HEIGHT / 2)
        self.marks += [*entries, *self._draw_axes()]

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the drawn position of a data point, clipped to the axes."""
        (x_low, x_high), (y_low, y_high) = self.x.ends, self.y.ends
        along = min(1.0, max(0.0, (x - x_low) / (x_high - x_low)))
        up = min(1.0, max(0.0, (y - y_low) / (y_high - y_low)))
        return (
            self.left + along * (self.right - self.left),
            self.bottom - up * (self.bottom - self.top),
        )

    def add_line(
        self, points: Iterable[tuple[float, float]], colour: str, **look: object
    ) -> None:
        """Draw a line through points."""
        known = {"fill": "none", "stroke": colour, "stroke_width": 2}
        path = self._path(points)
        self.marks.append(draw_element("polyline", points=path, **(known | look)))

    def add_band(
        self,
        xs: Sequence[float],
        lows: Sequence[float],
        highs: Sequence[float],
        colour: str,
    ) -> None:
        """Fill what lies between two lines."""
        edge = [*zip(xs, lows, strict=True)]
        edge += reversed([*zip(xs, highs, strict=True)])
        self.marks.append(
            draw_element(
                "polygon", points=self._path(edge), fill=colour, fill_opacity="0.18"
            )
        )

    def add_dots(
        self, points: Iterable[tuple[float, float]], colour: str, radius: float = 3
    ) -> None:
        """Draw dots, numbered from 0 in `data-place`."""
        for place, point in enumerate(points):
            x, y = self.at(*point)
            look = {"r": radius, "fill": colour, "data_place": place}
            self.marks.append(draw_element("circle", cx=x, cy=y, **look))

    def add_bar(
        self,
        corner: tuple[float, float],
        opposite: tuple[float, float],
        colour: str,
        opacity: float = 1.0,
    ) -> None:
        """Fill the rectangle between two corners."""
        (x, y), (x_end, y_end) = self.at(*corner), self.at(*opposite)
        self.marks.append(
            draw_element(
                "rect",
                x=min(x, x_end),
                y=min(y, y_end),
                width=abs(x - x_end),
                height=abs(y - y_end),
                fill=colour,
                fill_opacity=None if opacity == 1.0 else f"{opacity:.3g}",
            )
        )

    def write(self, label: str, **attributes: object) -> str:
        """Return the chart as SVG; `label` describes it to those who can't see it."""
        view_box = (0.0, 0.0, *self.size)
        return draw_svg(view_box, FONT, label, self.marks, **attributes)

    def _path(self, points: Iterable[tuple[float, float]]) -> str:
        placed = (self.at(*point) for point in points)
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)

    def _draw_axes(self) -> Iterable[str]:
        (x_low, x_high), (y_low, y_high) = self.x.ends, self.y.ends
        for value, label in self.y.ticks:
            yield from self._draw_rule((x_low, value), (x_high, value), self.y.has_grid)
            _, y = self.at(x_low, value)
            lines = wrap_label(label)
            y += FONT / 3 - (len(lines) - 1) * FONT / 2
            for number, line in enumerate(lines):
                at = self.left - GAP, y + number * FONT
                yield draw_text(line, *at, text_anchor="end")
        for value, label in self.x.ticks:
            yield from self._draw_rule((value, y_low), (value, y_high), self.x.has_grid)
            x, _ = self.at(value, y_low)
            shown = cut_to_width(label, BELOW, FONT)
            y = self.bottom + LINE_HEIGHT
            if self.is_turned:
                turn = f"translate({x:.1f} {y - GAP:.1f}) rotate(-35)"
                yield draw_text(shown, 0, 0, text_anchor="end", transform=turn)
            else:
                yield draw_text(shown, x, y, text_anchor="middle")
        corners = (x_low, y_high), (x_low, y_low), (x_high, y_low)
        yield draw_element(
            *("polyline",),
            points=self._path(corners),
            fill="none",
            stroke=INK,
            stroke_opacity="0.6",
        )
        width, height = self.size
        if self.x.name:
            at = (self.left + self.right) / 2, height - GAP
            shown = cut_to_width(self.x.name, width, FONT)
            yield draw_text(shown, *at, text_anchor="middle")
        if self.y.name:
            shown = cut_to_width(self.y.name, height, FONT)
            turn = f"translate({FONT} {(self.top + self.bottom) / 2:.1f}) rotate(-90)"
            yield draw_text(shown, 0, 0, text_anchor="middle", transform=turn)

    def _draw_rule(
        self, start: tuple[float, float], end: tuple[float, float], is_drawn: bool
    ) -> Iterable[str]:
        if is_drawn:
            path = self._path((start, end))
            yield draw_element(
                "polyline", points=path, stroke=INK, stroke_opacity="0.12"
            )


def wrap_label(label: str) -> list[str]:
    """Return a label beside an axis in lines."""
    return wrap_words(label, BESIDE, FONT, MOST_LINES)


def row_height(names: Iterable[str]) -> int:
    """Return the height of each row of a chart that has such names beside it."""
    n_lines = max((len(wrap_label(name)) for name in names), default=1)
    return ROW if n_lines < MOST_LINES else n_lines * FONT + GAP


def widest_text(texts: Iterable[str], most: float) -> float:
    """Return the width of the widest text, which is cut beyond `most`."""
    return min(most, max((text_width(text, FONT) for text in texts), default=0.0))
