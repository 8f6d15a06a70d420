"""The product's own baselines (001, section 7; 003): a pruned tree, bagging, a forest.

As `askless.core.pipeline.train` trains them and `askless.core.simulation` asks them, on
rows and costs of `huang`'s repetitions; their out-of-bag error beside the error on test
rows.
"""

from functools import partial

import numpy as np

from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.simulation.curves import evaluate
from askless.core.table.check import CheckedTable
from askless.core.table.spec import TableSpec
from askless.core.training.algorithms import ALGORITHMS
from askless.core.training.baselines import BASELINES
from askless.core.training.params import BoostParams
from askless.core.work import run_to_end
from benchmarks.data import MICROS
from benchmarks.documents import Rows, percent, plus_minus, signed
from benchmarks.intervals import Interval, interval
from benchmarks.papers.results import (
    SetResults,
    Sets,
)
from benchmarks.papers.runs import Record
from benchmarks.papers.sets import draw, plan

# Those whose trees are soon grown.
TITLES = ("splice", "census", "breast cancer", "ecoli", "heart")
BUDGETS = (2, 6, 12, 24, 40)
TREES = 100
SETTINGS = {"budgets": BUDGETS, "trees": TREES}

NAMES = {
    "decision_tree": "one pruned tree",
    "bagging": "bagging",
    "random_forest": "random forest",
}
BAGGED = ("bagging", "random_forest")
SHOWN = (2, 6, 40)


def play(title: str, repetition: int) -> Record:
    """Test error under each budget and without one, and the out-of-bag error."""
    drawn = draw(title, repetition)
    record: Record = {}
    limits = [*(budget * MICROS for budget in BUDGETS), None]
    for name in BASELINES:
        params = BoostParams(name, rounds=TREES, seed=repetition)
        spec = TrainingSpec(TableSpec(target="y"), boost=params, folds=0)
        model = run_to_end(train(CheckedTable(drawn.training, None, ()), spec))
        *within, everything = evaluate(model.ensemble, drawn.testing, limits).errors
        record[name] = np.round(within, 4).tolist()
        record[f"{name}_all"] = round(everything, 6)
        if ALGORITHMS[name].is_bagged:
            record[f"{name}_out_of_bag"] = model.card["out_of_bag_error"]
    return record


def find_gap(found: SetResults, name: str) -> Interval:
    """Out-of-bag error less the error on the test rows; paired."""
    return interval(found.column(f"{name}_out_of_bag") - found.column(f"{name}_all"))


def write_baselines(sets: Sets) -> Rows:
    for title, found in sets.items():
        for name, words in NAMES.items():
            left_out = ["", ""]
            if name in BAGGED:
                errors = interval(found.column(f"{name}_out_of_bag"))
                left_out = [plus_minus(errors), signed(find_gap(found, name))]
            curve = found.mean(name)
            cells = [percent(curve[BUDGETS.index(budget)], 1) for budget in SHOWN]
            whole = plus_minus(interval(found.column(f"{name}_all")))
            first = title if name == next(iter(NAMES)) else ""
            yield first, words, *cells, whole, *left_out


measure = partial(plan, TITLES, SETTINGS, play, (12, 3))
TABLES = {"baselines": write_baselines}
