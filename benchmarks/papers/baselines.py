"""The product's own baselines (001, section 7; 003): a pruned tree, bagging, a forest.

As `core.pipeline.train` trains them and `core.session.simulate` asks them, on rows and
costs of `huang`'s repetitions; their out-of-bag error beside the error on test rows.
"""

import numpy as np

from benchmarks.data import MICROS
from benchmarks.engine import run_out
from benchmarks.papers import sets
from benchmarks.papers.runs import Measurement, Record
from core.pipeline.train import train
from core.session.curves import evaluate
from core.training.baselines import BASELINES
from core.training.params import BoostParams

SETS = ("splice", "census", "breast cancer", "ecoli", "heart")
BUDGETS = (2, 6, 12, 24, 40)
TREES = 100
N_REPETITIONS = 12
N_QUICK = 3


def measure(quick: bool) -> Measurement:
    """The baselines on the sets whose trees are soon grown."""
    settings = {"budgets": BUDGETS, "trees": TREES}
    return sets.plan(SETS, N_QUICK if quick else N_REPETITIONS, settings, play)


def play(title: str, repetition: int) -> Record:
    """Test error under each budget and without one, and the out-of-bag error."""
    drawn = sets.draw(title, repetition)
    record: Record = {}
    limits = [*(budget * MICROS for budget in BUDGETS), None]
    for name in BASELINES:
        params = BoostParams(name, rounds=TREES, seed=repetition)
        model = run_out(train(drawn.training, params, folds=0))
        *within, everything = evaluate(model.ensemble, drawn.testing, limits).errors
        record[name] = np.round(within, 4).tolist()
        record[f"{name}_all"] = round(everything, 6)
        if BASELINES[name].is_bagged:
            record[f"{name}_out_of_bag"] = model.card["out_of_bag_error"]
    return record
