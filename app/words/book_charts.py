"""Charts of the books: amounts by day and by name, figures over time and by name."""

from collections.abc import Sequence
from datetime import date, timedelta
from textwrap import shorten
from typing import TYPE_CHECKING, NamedTuple

from app.words.charts import INK, SERIES, WIDE, draw_chart, in_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Letters of a name beside a bar.
NAME = 26
# A chart of one day would else show its hours.
LEAST_SPAN = timedelta(days=4)


class PlottedFigure(NamedTuple):
    """A figure, and its interval where there is one."""

    value: float
    interval: tuple[float, float] | None = None


def days_chart(amounts: Sequence[tuple[date, float]], unit: str, part: str) -> str:
    """Draw an amount for each day or month; `part` says which."""
    width = 24.0 if part == "month" else 0.8

    def paint(axes: "Axes") -> None:
        days = [day for day, _ in amounts]
        heights = [amount for _, amount in amounts]
        axes.bar(days, heights, width, color=SERIES[0])  # type: ignore[arg-type]  # dates too
        axes.axhline(0, color=INK, lw=0.8)
        axes.set(xlabel=f"{part} (UTC)", ylabel=f"spend{in_unit(unit)}")
        mark_days(axes, days)

    return draw_chart(paint, f"Spend by {part}{in_unit(unit)}", WIDE)


def names_chart(amounts: Sequence[tuple[str, float]], unit: str, noun: str) -> str:
    """Draw an amount for each of some names, the first on top."""

    def paint(axes: "Axes") -> None:
        places = range(len(amounts))
        axes.barh(places, [amount for _, amount in amounts], 0.7, color=SERIES[0])
        axes.axvline(0, color=INK, lw=0.8)
        axes.set(xlabel=f"spend{in_unit(unit)}")
        write_names(axes, [name for name, _ in amounts])

    said = f"Spend by {noun}{in_unit(unit)}"
    return draw_chart(paint, said, height_of(len(amounts)))


def trend_chart(points: Sequence[tuple[date, PlottedFigure]], what: str) -> str:
    """Draw a figure over time, with its intervals; `what` has its unit."""

    def paint(axes: "Axes") -> None:
        days = [day for day, _ in points]
        values = [one.value for _, one in points]
        for day, one in points:
            if one.interval is not None:
                axes.plot([day] * 2, one.interval, color=SERIES[0], lw=1.2)  # type: ignore[arg-type]
        axes.plot(days, values, color=SERIES[0], marker="o", ms=4, lw=1)  # type: ignore[arg-type]
        axes.set(ylabel=what, xlabel="sessions that began from (UTC)")
        axes.set_ylim(bottom=0)
        mark_days(axes, days)

    return draw_chart(paint, f"{what} over time, with 95 % intervals", WIDE)


def shares_chart(points: Sequence[tuple[str, PlottedFigure]], what: str) -> str:
    """Draw a share for each of some names, with its interval; values from 0 to 1."""

    def paint(axes: "Axes") -> None:
        for row, (_, one) in enumerate(points):
            if one.interval is not None:
                ends = [100 * end for end in one.interval]
                axes.plot(ends, [row] * 2, color=SERIES[0], lw=1.2)
        axes.plot(
            [100 * one.value for _, one in points],
            range(len(points)),
            *("o",),
            color=SERIES[0],
            ms=5,
        )
        axes.set(xlabel=f"{what} (%)", xlim=(-2, 102))
        write_names(axes, [name for name, _ in points])

    said = f"{what} by feature, with 95 % intervals"
    return draw_chart(paint, said, height_of(len(points)))


def height_of(n_names: int) -> tuple[float, float]:
    return WIDE[0], 0.8 + 0.27 * n_names


def write_names(axes: "Axes", names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [brief(one) for one in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=INK, alpha=0.12, lw=0.6)


def brief(text: str) -> str:
    """Return a name that leaves room for a chart beside it."""
    text = shorten(text, 4 * NAME, placeholder="…")
    return text if len(text) <= NAME else text[: NAME - 1] + "…"


def mark_days(axes: "Axes", days: Sequence[date]) -> None:
    """Write days below a chart, as people do, and leave room beside them."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(
        ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
    )
    first, last = min(days), max(days)
    room = max(LEAST_SPAN - (last - first), timedelta()) / 2 + timedelta(days=1)
    if date.min + room < first and last < date.max - room:
        axes.set_xlim(first - room, last + room)  # type: ignore[arg-type]  # dates too
    axes.grid(axis="y", color=INK, alpha=0.12, lw=0.6)
