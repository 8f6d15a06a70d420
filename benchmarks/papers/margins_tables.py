"""Margins and Corollary 3's bound, as tables."""

from __future__ import annotations

import numpy as np

from benchmarks.documents import percent, table
from benchmarks.intervals import Sides
from benchmarks.papers.margins import DRAWS, ROUNDS, THETAS
from benchmarks.papers.results import Verdict, mean, measured
from benchmarks.papers.reyzin import TITLES
from benchmarks.papers.runs import Results

SMALL = 0.1
DRAWS_SHOWN = (101, 3001)


def write_margins(results: Results) -> str:
    """Rows of small margin by rounds; after the last the bound beside the error."""
    zero, small = (int(np.searchsorted(THETAS, one)) for one in (0.0, SMALL))
    rows = []
    for title in measured(results, TITLES):
        ends = [
            percent(mean(results, title, key)[DRAWS.index(draws)])
            for draws in DRAWS_SHOWN
            for key in ("sampled", "bound")
        ]
        for count in ROUNDS:
            train, test = (
                mean(results, title, f"{rows}_{count}") for rows in ("train", "test")
            )
            shares = [percent(one) for one in (train[zero], train[small], test[zero])]
            cells = ends if count == ROUNDS[-1] else [""] * len(ends)
            rows.append([title if count == ROUNDS[0] else "", count, *shares, *cells])
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
    return table(heading, rows)


def judge(results: Results) -> list[Verdict]:
    """Do the two terms of Corollary 3 bound the error on training rows?"""
    gaps = {
        title: mean(results, title, "bound") - mean(results, title, "sampled")
        for title in measured(results, TITLES)
    }
    held = [title for title, one in gaps.items() if (one >= 0).all()]
    if not gaps:
        return []
    found = Sides(held, [title for title in gaps if title not in held], [])
    at_101 = [100 * one[DRAWS.index(101)] for one in gaps.values()]
    claim = "Corollary 3: two of its terms bound the sampled error on training rows"
    text = (
        f"at each of {len(DRAWS)} numbers of draws on {len(held)} of {len(gaps)} sets; "
        f"at 101 draws {min(at_101):.0f} to {max(at_101):.0f} points above"
    )
    return [Verdict("000", claim, found.tendency, text)]


TABLES = {"margins": write_margins}
