"""Small SVG pictures in one style, which come out the same from the same results."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from askless.core.arrays import FloatArray
from benchmarks.intervals import interval

STYLE = {
    "svg.hashsalt": "askless",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.titlesize": 9,
    "legend.fontsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
}
mpl.use("svg")
mpl.rcParams.update(STYLE)

# Okabe and Ito's colours, told apart by colour-blind readers too.
COLOURS = {
    "blue": "#0072b2",
    "orange": "#d55e00",
    "green": "#009e73",
    "pink": "#cc79a7",
    "yellow": "#e69f00",
    "sky": "#56b4e9",
    "grey": "#777777",
}
PATHS = re.compile(r' (?:d|x|y|points)="[^"]*"')
DIGITS = re.compile(r"(\.\d\d)\d+")


@dataclass(frozen=True)
class Line:
    """A curve, or repetitions of one with a band about their mean; without x level."""

    label: str
    colour: str
    x: npt.ArrayLike | None
    y: FloatArray | float
    dashes: str = "-"
    marker: str = ""

    def draw(self, axes: Axes) -> None:
        style = {"color": COLOURS[self.colour], "ls": self.dashes, "label": self.label}
        if self.x is None:
            axes.axhline(self.y, **style)
            return
        values = np.asarray(self.y)
        if values.ndim == 2:
            mean = values.mean(axis=0)
            half = np.array([interval(value).half for value in values.T])
            # On a logarithmic axis a band must not reach zero.
            low = np.maximum(mean - half, mean / 2)
            shade = {"color": COLOURS[self.colour], "alpha": 0.2, "lw": 0}
            axes.fill_between(self.x, low, mean + half, **shade)
            values = mean
        axes.plot(self.x, values, marker=self.marker, **style)


def draw_panels(
    panels: Mapping[str, Sequence[Line]],
    labels: tuple[str, str],
    *,
    shape: tuple[int, int, float],
    ticks: Sequence[float] = (),
    **settings: Any,
) -> Figure:
    """Draw a panel by title, labelled at the edges, under one legend.

    labels: across and up. shape: panels in a row, labels in a row of the legend, height
    of a row. settings: those of every `Axes`.
    """
    n_columns, n_labels, height = shape
    figure, all_axes = make_axes(len(panels), n_columns, height)
    for axes, (title, lines) in zip(all_axes, panels.items(), strict=True):
        for line in lines:
            line.draw(axes)
        axes.set(title=title, **settings)
        if ticks:
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
    for axes in all_axes[::n_columns]:
        axes.set_ylabel(labels[1])
    for axes in all_axes[-n_columns:]:
        axes.set_xlabel(labels[0])
    handles, names = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=n_labels)
    return figure


def make_axes(n_panels: int, n_columns: int, height: float) -> tuple[Figure, list[Any]]:
    """Return a figure of equal panels, and its axes in reading order."""
    n_rows = -(-n_panels // n_columns)
    figure = Figure(figsize=(7.2, height * n_rows + 0.35), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for extra in axes[n_panels:]:
        extra.set_visible(False)
    return figure, list(axes[:n_panels])


def save(figure: Figure, path: Path) -> None:
    """Write as SVG, without a date."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None})
    # Hundredths of a point are enough, and matplotlib leaves blanks at ends of lines.
    text = PATHS.sub(lambda found: DIGITS.sub(r"\1", found[0]), path.read_text())
    lines = [line.rstrip() for line in text.splitlines()]
    path.write_text("\n".join(lines) + "\n")
