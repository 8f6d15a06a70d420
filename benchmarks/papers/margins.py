"""Margins on training and test rows, and the two terms of Corollary 3 (000, 003).

AdaBoost on stumps over the rows of `reyzin`'s repetitions.
"""

from functools import partial

import numpy as np

from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from benchmarks.documents import Rows, percent
from benchmarks.engine import boost_rounds
from benchmarks.papers.corollary3 import (
    corollary3_bound,
    margin_distribution,
    margins,
)
from benchmarks.papers.results import Sets
from benchmarks.papers.reyzin import TITLES, means, sample_rows
from benchmarks.papers.runs import Record
from benchmarks.papers.sets import draw, plan

ROUNDS = (10, 100, 500)
DRAWS = (11, 31, 101, 301, 1001, 3001)
THETAS = np.round(np.linspace(-1, 1, 81), 3)
BOUND_THETAS = np.round(np.linspace(0.01, 1, 100), 3)
SETTINGS = {"rounds": ROUNDS, "draws": DRAWS, "sampled_rows": "training"}

SMALL = 0.1
DRAWS_SHOWN = (101, 3001)


def play(title: str, repetition: int) -> Record:
    """Share of rows by margin after so many rounds, and the bound after the last.

    `bound`: the least over theta of the share of training rows of at most that margin
    plus exp(-N theta^2/2), for N draws. `sampled`: the error that it bounds, of N draws
    for each training row.
    """
    drawn = draw(title, repetition, uniform_costs=True)
    training = drawn.training
    params = BoostParams("adaboost", rounds=ROUNDS[-1])
    rounds = list(boost_rounds(training, params))
    record: Record = {}
    for count in ROUNDS:
        ensemble = make_ensemble(training, params, rounds[:count])
        for name, rows in (("train", training), ("test", drawn.testing)):
            shares = margin_distribution(margins(ensemble, rows), THETAS)
            record[f"{name}_{count}"] = np.round(shares, 5).tolist()
    ensemble = make_ensemble(training, params, rounds)
    whole = margins(ensemble, training)
    record["bound"] = [
        min(corollary3_bound(whole, float(theta), count) for theta in BOUND_THETAS)
        for count in DRAWS
    ]
    votes, _, _ = sample_rows(ensemble, training, repetition, np.array(DRAWS))
    record["sampled"] = means(np.sign(votes) != training.signs[:, None])
    return record


def write_margins(sets: Sets) -> Rows:
    zero, small = (int(np.searchsorted(THETAS, one)) for one in (0.0, SMALL))
    for title, found in sets.items():
        ends = [
            percent(found.mean(key)[DRAWS.index(draws)])
            for draws in DRAWS_SHOWN
            for key in ("sampled", "bound")
        ]
        for count in ROUNDS:
            train, test = (found.mean(f"{rows}_{count}") for rows in ("train", "test"))
            shares = [percent(one) for one in (train[zero], train[small], test[zero])]
            cells = ends if count == ROUNDS[-1] else [""] * len(ends)
            yield title if count == ROUNDS[0] else "", count, *shares, *cells


measure = partial(plan, TITLES, SETTINGS, play, (20, 3))
TABLES = {"margins": write_margins}
