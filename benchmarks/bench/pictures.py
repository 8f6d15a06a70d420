"""The pictures of docs/performance.md."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from benchmarks.bench.doubling import SIZES
from benchmarks.bench.tables import name_modes
from benchmarks.plots import COLOURS, make_axes, save


def draw(parts: Mapping[str, Any], folder: Path) -> None:
    """Draw what was measured."""
    if "numeric" in parts and "binary" in parts:
        save(draw_training(parts), folder / "performance_training.svg")
    if "doubling" in parts:
        save(draw_doubling(parts["doubling"]), folder / "performance_doubling.svg")


def draw_training(parts: Mapping[str, Any]) -> Figure:
    """Boosting and binning of every party, one bar each."""
    figure, both = make_axes(2, 2, 2.3)
    for axes, kind in zip(both, ("numeric", "binary"), strict=True):
        draw_bars(axes, parts[kind])
        axes.invert_yaxis()
    both[1].set_yticklabels([])
    handles, labels = both[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def draw_bars(axes: Axes, one: Mapping[str, Any]) -> None:
    bars = list(name_modes(one))
    labels = [label for label, *_ in bars]
    binning, boosting, both = ([bar[place] for bar in bars] for place in (1, 2, 3))
    seconds = [taken["median_s"] for taken in boosting]
    before = [taken["median_s"] for taken in binning]
    axes.barh(labels, seconds, color=COLOURS["blue"], label="boosting")
    axes.barh(labels, before, left=seconds, color=COLOURS["sky"], label="binning")
    axes.errorbar(
        [taken["median_s"] for taken in both],
        labels,
        xerr=find_errors(both),
        fmt="none",
        ecolor="black",
        elinewidth=0.8,
        capsize=2,
        label="both, least to greatest",
    )
    shape = f"{one['rows']:,} × {one['features']}, {one['rounds']} rounds"
    axes.set(xlabel="seconds", title=f"{one['kind']}: {shape}")


def find_errors(
    times: Sequence[Mapping[str, float]],
) -> tuple[list[float], list[float]]:
    """From the medians down to the least and up to the greatest."""
    return (
        [time_taken["median_s"] - time_taken["min_s"] for time_taken in times],
        [time_taken["max_s"] - time_taken["median_s"] for time_taken in times],
    )


def draw_doubling(doubling: Mapping[str, Any]) -> Figure:
    """Seconds against each size, both axes doubling; a line of slope 1 beside."""
    figure, all_axes = make_axes(3, 3, 2.3)
    for axes, (size, measured) in zip(all_axes, doubling["sizes"].items(), strict=True):
        part = SIZES[size]
        at = [point[size] for point in measured["points"]]
        times = [point[part] for point in measured["points"]]
        seconds = [time_taken["median_s"] for time_taken in times]
        even = [seconds[0] * one / at[0] for one in at]
        axes.plot(at, even, "--", color=COLOURS["grey"], label="twice for twice")
        style = {"fmt": "o-", "color": COLOURS["blue"], "capsize": 2}
        axes.errorbar(at, seconds, find_errors(times), label="measured", **style)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(at, [f"{one:,}" for one in at])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:.2g}"))
        what = "boosting" if part == "boosting" else "binning and boosting"
        axes.set(xlabel=size, title=what)
    all_axes[0].set_ylabel("seconds")
    all_axes[0].legend(loc="upper left")
    return figure
