"""The pictures of docs/performance.md, as SVG that is the same for the same figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from benchmarks.bench.targets import PEERS

STYLE = {
    "svg.hashsalt": "askless",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
BOOSTING, BINNING, IDEAL = "#1f5fa8", "#a9c6e6", "#888888"


def draw(parts: Mapping[str, Any], folder: Path) -> list[str]:
    """Draw what was measured; the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    with mpl.rc_context(STYLE):
        if "numeric" in parts and "binary" in parts:
            save(training_figure(parts), folder / "performance_training.svg")
            drawn.append("performance_training.svg")
        if "doubling" in parts:
            save(
                doubling_figure(parts["doubling"]), folder / "performance_doubling.svg"
            )
            drawn.append("performance_doubling.svg")
    return drawn


def save(figure: Figure, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})


def training_figure(parts: Mapping[str, Any]) -> Figure:
    """Boosting and binning of every party, one bar each."""
    figure = Figure(figsize=(8, 2.6), layout="constrained")
    both = figure.subplots(1, 2, sharey=True)
    for axes, kind in zip(both, ("numeric", "binary"), strict=True):
        training_bars(axes, parts[kind])
    both[0].invert_yaxis()
    handles, labels = both[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def training_bars(axes: Axes, one: Mapping[str, Any]) -> None:
    labels, boosting, binning, both = [], [], [], []
    for name, party in one["parties"].items():
        title = "Askless" if name == "askless" else PEERS[name]
        for mode, taken in party["boosting"].items():
            labels.append(
                title if len(party["boosting"]) == 1 else f"{title} {mode}",
            )
            boosting.append(taken["median_s"])
            binning.append(party["best"]["binning"]["median_s"])
            both.append(party["both"][mode])
    axes.barh(labels, boosting, color=BOOSTING, label="boosting")
    axes.barh(labels, binning, left=boosting, color=BINNING, label="binning")
    axes.errorbar(
        [taken["median_s"] for taken in both],
        labels,
        xerr=errors(both),
        fmt="none",
        ecolor="black",
        elinewidth=0.8,
        capsize=2,
        label="both, least to greatest",
    )
    axes.set_xlabel("seconds")
    axes.set_title(
        f"{one['kind']}: {one['rows']:,} × {one['features']}, {one['rounds']} rounds"
    )


def errors(times: Sequence[Mapping[str, float]]) -> tuple[list[float], list[float]]:
    """From the medians down to the least and up to the greatest."""
    return (
        [one["median_s"] - one["min_s"] for one in times],
        [one["max_s"] - one["median_s"] for one in times],
    )


def doubling_figure(doubling: Mapping[str, Any]) -> Figure:
    """Seconds against each size, both axes doubling; a line of slope 1 beside."""
    figure = Figure(figsize=(8, 2.6), layout="constrained")
    all_axes = figure.subplots(1, 3, sharey=True)
    for axes, (size, measured) in zip(all_axes, doubling["sizes"].items(), strict=True):
        part = "boosting" if size == "rounds" else "both"
        points = measured["points"]
        at = [one[size] for one in points]
        times = [one[part] for one in points]
        seconds = [one["median_s"] for one in times]
        axes.plot(
            at,
            [seconds[0] * one / at[0] for one in at],
            "--",
            color=IDEAL,
            label="twice for twice",
        )
        axes.errorbar(
            at,
            seconds,
            errors(times),
            fmt="o-",
            color=BOOSTING,
            capsize=2,
            label="measured",
        )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(at, [f"{one:,}" for one in at])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:.2g}"))
        axes.set_xlabel(size)
        what = "boosting" if part == "boosting" else "binning and boosting"
        axes.set_title(what)
    all_axes[0].set_ylabel("seconds")
    all_axes[0].legend(frameon=False, loc="upper left")
    return figure
