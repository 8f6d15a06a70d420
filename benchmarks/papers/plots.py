"""Small SVG figures that come out the same from the same results."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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


def panels(n_panels: int, n_columns: int, height: float = 1.9) -> tuple[Figure, list]:
    """A figure of equal panels, and its axes in reading order."""
    n_rows = -(-n_panels // n_columns)
    figure = Figure(figsize=(7.2, height * n_rows + 0.35), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for extra in axes[n_panels:]:
        extra.set_visible(False)
    return figure, list(axes[:n_panels])


def legend_above(figure: Figure, axes: Axes, n_columns: int) -> None:
    """One legend for all panels."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=n_columns)


def save(figure: Figure, path: Path) -> None:
    """Write as SVG, without a date."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None})
    # Hundredths of a point are enough, and matplotlib leaves blanks at ends of lines.
    text = PATHS.sub(lambda path: DIGITS.sub(r"\1", path[0]), path.read_text())
    lines = [line.rstrip() for line in text.splitlines()]
    path.write_text("\n".join(lines) + "\n")
