"""What the document says of margins."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from benchmarks.papers import document, plots
from benchmarks.papers.document import column, listed, percent, table
from benchmarks.papers.margins import DRAWS, ROUNDS, THETAS
from benchmarks.papers.reyzin import find_marks
from benchmarks.papers.reyzin_findings import titles
from benchmarks.papers.runs import Results

BESIDE = ("reyzin",)
SHADES = dict(zip(ROUNDS, ("sky", "blue", "orange"), strict=True))
SMALL = 0.1


def figures(results: Results) -> dict[str, Figure]:
    """Distribution of margins; the bound beside the error that was measured."""
    names = titles(results)
    figure, all_axes = plots.panels(len(names), 4, 2.1)
    for axes, title in zip(all_axes, names, strict=True):
        for count in ROUNDS:
            colour = plots.COLOURS[SHADES[count]]
            for name, dashes in (("train", "-"), ("test", ":")):
                shares = 100 * column(results, title, f"{name}_{count}").mean(axis=0)
                label = f"{count} rounds, {name}"
                axes.plot(THETAS, shares, color=colour, ls=dashes, label=label)
        axes.set(title=title, xlabel="margin at most", xlim=(-0.6, 0.8))
    all_axes[0].set_ylabel("% of rows")
    plots.legend_above(figure, all_axes[0], 3)
    return {"margins": figure, "margins_bound": draw_bound(results)}


def draw_bound(results: Results) -> Figure:
    """Corollary 3's two terms, beside the error that they bound and that of testing."""
    names = titles(results)
    figure, all_axes = plots.panels(len(names), 4, 1.9)
    for axes, title in zip(all_axes, names, strict=True):
        bound = 100 * column(results, title, "bound").mean(axis=0)
        axes.plot(DRAWS, bound, color=plots.COLOURS["orange"], label="the two terms")
        sampled = 100 * column(results, title, "sampled").mean(axis=0)
        green = plots.COLOURS["green"]
        axes.plot(DRAWS, sampled, color=green, label="error on training rows, sampled")
        measured = sampled_errors(results, title)
        if measured is not None:
            marks = find_marks()
            blue = plots.COLOURS["blue"]
            style = {"color": blue, "ls": ":", "label": "on test rows, sampled"}
            axes.plot(marks, 100 * measured, **style)
        axes.set(title=title, xscale="log", xlabel="draws", ylim=(0, 105))
    all_axes[0].set_ylabel("%")
    plots.legend_above(figure, all_axes[0], 3)
    return figure


def sampled_errors(results: Results, title: str) -> np.ndarray | None:
    """Mean test error of the sampled vote by draws, where `reyzin` has it."""
    beside: Results = results.get("beside", {}).get("reyzin", {"sets": {}})
    if title not in beside["sets"]:
        return None
    return column(beside, title, "errors").mean(axis=0)


def section(results: Results) -> str:
    """Figures and a table."""
    zero = int(np.searchsorted(THETAS, 0.0))
    small = int(np.searchsorted(THETAS, SMALL))
    rows = []
    for title in titles(results):
        sampled = column(results, title, "sampled").mean(axis=0)
        bound = column(results, title, "bound").mean(axis=0)
        ends = []
        for draws in (101, 3001):
            idx = DRAWS.index(draws)
            ends += [percent(sampled[idx]), percent(bound[idx])]
        for count in ROUNDS:
            train = column(results, title, f"train_{count}").mean(axis=0)
            test = column(results, title, f"test_{count}").mean(axis=0)
            rows.append(
                [
                    title if count == ROUNDS[0] else "",
                    str(count),
                    percent(train[zero]),
                    percent(train[small]),
                    percent(test[zero]),
                    *(ends if count == ROUNDS[-1] else [""] * len(ends)),
                ]
            )
    heading = [
        "set",
        "rounds",
        "training rows of margin ≤ 0",
        f"≤ {SMALL}",
        "test rows of margin ≤ 0",
        "sampled error on training rows, 101 draws",
        "bound, 101 draws",
        "sampled, 3,001 draws",
        "bound, 3,001 draws",
    ]
    return "\n\n".join(
        [
            "## Margins (000, Corollary 3; 003)",
            f"AdaBoost on the training rows of 000; {document.repetitions(results)} "
            "draws of rows, means in percent. The bound is the least over θ of the "
            "share of training rows of margin at most θ plus exp(−Nθ²/2): the two "
            "terms that can be computed. The third has a constant that the paper "
            "leaves open, so this bounds the error on the training rows themselves, "
            "not on new ones, and stands beside that: each training row's own draws, "
            f"like a test row's. {bound_words(results)}",
            "![Distribution of margins](figures/margins.svg)",
            "![The bound beside the measured error](figures/margins_bound.svg)",
            table(heading, rows),
            f"From {ROUNDS[0]} to {ROUNDS[-1]} rounds training rows of margin at most "
            f"0 become fewer on {listed(moved(results, zero))}, those of margin at "
            f"most {SMALL} on {listed(moved(results, small))}: elsewhere the votes, "
            "shared by ever more hypotheses, gather just above 0. For the draws that "
            "a budget pays the bound says little: margins of stumps are small, and "
            "exp(−Nθ²/2) needs hundreds of draws.",
        ]
    )


def bound_words(results: Results) -> str:
    """Whether the terms hold what they promise, and how loosely."""
    names = titles(results)
    sampled, bound = (
        np.array([column(results, title, key).mean(axis=0) for title in names])
        for key in ("sampled", "bound")
    )
    n_held = int((sampled <= bound).all(axis=1).sum())
    gaps = (bound - sampled)[:, DRAWS.index(101)]
    return (
        f"It holds at each of {len(DRAWS)} numbers of draws on {n_held} of "
        f"{len(names)} sets; at 101 draws it lies {percent(gaps.min(), 0)} to "
        f"{percent(gaps.max(), 0)} points above."
    )


def moved(results: Results, position: int) -> list[str]:
    """Sets on which more rounds leave fewer training rows up to a margin."""
    return [
        title
        for title in titles(results)
        if column(results, title, f"train_{ROUNDS[-1]}")[:, position].mean()
        < column(results, title, f"train_{ROUNDS[0]}")[:, position].mean()
    ]
