"""Reyzin (2010): AdaBoostRS "is easy to run online", beside AdaBoostRS from a table.

Over the rows of `reyzin`'s repetitions: online boosting learns each training row once.
Both then draw hypotheses by alpha under the same budgets; all costs are 1.
"""

from functools import partial

import numpy as np

from askless.core.codes.binned_table import code_table
from askless.core.model.ensemble import Ensemble
from askless.core.simulation.curves import evaluate
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import grow_ensemble, make_ensemble
from askless.core.training.params import BoostParams
from benchmarks.data import MICROS
from benchmarks.documents import Rows, percent, plus_minus
from benchmarks.engine import train_ensemble
from benchmarks.intervals import interval
from benchmarks.papers.results import Sets
from benchmarks.papers.reyzin import ROUNDS, TITLES
from benchmarks.papers.runs import Record
from benchmarks.papers.sets import draw, plan

#: Features that a case may read; None: no limit.
BUDGETS = (4, 16, 64, None)
SETTINGS = {"rounds": ROUNDS, "budgets": BUDGETS}


def play(title: str, repetition: int) -> Record:
    """Return the errors under each budget, online and from the table."""
    drawn = draw(title, repetition, uniform_costs=True)
    training, testing = drawn.training, drawn.testing
    params = BoostParams("online", rounds=ROUNDS, seed=repetition)
    rounds = list(grow_ensemble(code_table(training), params, (), is_strict=False))
    batch = train_ensemble(training, BoostParams("adaboost_rs", rounds=ROUNDS))
    return {
        "online": errors(make_ensemble(training, params, rounds), testing, repetition),
        "batch": errors(batch, testing, repetition),
    }


def errors(ensemble: Ensemble, testing: Dataset, seed: int) -> list[float]:
    """Return the errors of policy `sample` under each budget."""
    limits = [None if budget is None else budget * MICROS for budget in BUDGETS]
    curve = evaluate(ensemble, testing, limits, "sample", seed=seed)
    return np.round(curve.errors, 6).tolist()


def write_online(sets: Sets) -> Rows:
    """Write errors by budget, and their ratio."""
    for title, found in sets.items():
        online, batch = found.column("online"), found.column("batch")
        for idx, budget in enumerate(BUDGETS):
            means = online[:, idx].mean(), batch[:, idx].mean()
            gap = plus_minus(interval(online[:, idx] - batch[:, idx]))
            cells = [percent(mean) for mean in means]
            limit = "none" if budget is None else budget
            ratio = f"{means[0] / means[1]:.2f}"
            yield "" if idx else title, limit, *cells, gap, ratio


measure = partial(plan, TITLES, SETTINGS, play, (6, 3))
TABLES = {"online": write_online}
