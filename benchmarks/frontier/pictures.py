"""The picture of docs/frontier.md: errors and log-loss against the budget."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from benchmarks.frontier.draws import BUDGETS, SHARES
from benchmarks.frontier.found import SetFound
from benchmarks.frontier.tables import Sets
from benchmarks.plots import Line, draw_panels

AXES = {
    "uniform": ("uniform prices", BUDGETS),
    "fees": ("fees; budget in % of everything", [100 * share for share in SHARES]),
}
COLOURS = {"bar": "blue", "forward": "green", "logistic": "yellow", "panels": "orange"}


def draw_frontier(sets: Sets) -> Figure:
    """Geometric means of errors by those of the best paper rule, and log-losses."""
    pictures = {}
    for protocol, found in sets.items():
        if found:
            title, budgets = AXES[protocol]
            pictures[f"error ÷ best paper, {title}"] = ratios(found, budgets)
            pictures[f"log-loss, {title}"] = [
                Line(name, colour, budgets, mean_of(found, name, "log_losses"))
                for name, colour in COLOURS.items()
            ]
    return draw_panels(pictures, ("budget", ""), shape=(2, len(COLOURS), 2.1))


def ratios(found: Sequence[SetFound], budgets: Sequence[float]) -> list[Line]:
    def logs(name: str) -> list[np.ndarray]:
        # Where no row is wrong, half a row.
        return [
            np.log(np.maximum(one.curve(name, "errors"), 0.5 / one.n_rows))
            for one in found
        ]

    papers = np.array(logs("paper"))
    return [
        Line(
            name, colour, budgets, np.exp((np.array(logs(name)) - papers).mean(axis=0))
        )
        for name, colour in COLOURS.items()
    ]


def mean_of(found: Sequence[SetFound], name: str, figure: str) -> np.ndarray:
    mean: np.ndarray = np.mean([one.curve(name, figure) for one in found], axis=0)
    return mean
