"""Margins and Corollary 3's bound, as tables."""

import numpy as np

from benchmarks.documents import Rows, percent
from benchmarks.papers.margins import DRAWS, ROUNDS, THETAS
from benchmarks.papers.results import Verdict, grade, mean, measured
from benchmarks.papers.reyzin import TITLES
from benchmarks.papers.runs import Results

SMALL = 0.1
DRAWS_SHOWN = (101, 3001)


def write_margins(results: Results) -> Rows:
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
    return rows


def judge_terms(results: Results) -> Verdict | None:
    """Do the two terms of Corollary 3 bound the error on training rows?"""
    gaps = [
        mean(results, title, "bound") - mean(results, title, "sampled")
        for title in measured(results, TITLES)
    ]
    if not gaps:
        return None
    held = [bool((one >= 0).all()) for one in gaps]
    at_101 = [100 * one[DRAWS.index(101)] for one in gaps]
    return grade(held), (
        f"at each of {len(DRAWS)} numbers of draws on {sum(held)} of {len(held)} sets; "
        f"at 101 draws {min(at_101):.0f} to {max(at_101):.0f} points above"
    )


TABLES = {"margins": write_margins}
JUDGES = {"terms": judge_terms}
