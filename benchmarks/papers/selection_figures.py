"""Figure 3 of Sebban and Nock (1999) again: relative gain in rounds."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from benchmarks.papers import plots
from benchmarks.papers.runs import Results
from benchmarks.papers.selection_findings import counted, is_same, merge, saving


def figures(results: Results) -> dict[str, Figure]:
    """A bar per data set, the mean and the median over them."""
    sets = counted(merge(results))
    if not sets:
        return {}
    found = saving(sets, "ifs2boost")
    figure, (axes,) = plots.panels(1, 1, 2.4)
    colours = [
        plots.COLOURS["blue" if is_same(one, "ifs2boost") else "orange"]
        for one in sets.values()
    ]
    places = range(len(sets))
    axes.bar(places, 100 * found.gains, color=colours)
    for value, style in ((found.gains.mean(), ":"), (np.median(found.gains), "-")):
        axes.axhline(100 * float(value), color=plots.COLOURS["grey"], ls=style, lw=1)
    axes.set_yscale("symlog", linthresh=100)
    axes.set_xticks(places, list(sets), rotation=60, ha="right")
    axes.set_ylabel("relative gain, %")
    axes.set_title("blue: the same subset; orange: another; dotted: mean; line: median")
    return {"selection_gain": figure}
