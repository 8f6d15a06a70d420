"""The product's own baselines (001, section 7; 003): a pruned tree, bagging, a forest.

As `core.pipeline.train` trains them and `core.session.simulate` asks them, on rows and
costs of `huang`'s repetitions; their out-of-bag error beside the error on test rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import MICROS
from benchmarks.papers import sets
from benchmarks.papers.runs import Measurement, Record
from core.model.model import Model
from core.pipeline.train import train
from core.session.curves import evaluate
from core.table.dataset import Dataset
from core.training.baselines import BASELINES
from core.training.params import BoostParams

SETS = ("splice", "census", "breast cancer", "ecoli", "heart")
BUDGETS = (2, 6, 12, 24, 40)
TREES = 100
N_REPETITIONS = 12
N_QUICK = 3


def measure(quick: bool) -> Measurement:
    """The baselines on the sets whose trees are soon grown."""
    lacking = sets.find_missing(list(SETS))
    settings: dict[str, Any] = {
        "seed": sets.SEED,
        "budgets": list(BUDGETS),
        "trees": TREES,
    }
    count = N_QUICK if quick else N_REPETITIONS
    repetitions = {title: count for title in SETS if title not in lacking}
    n_rows = sets.count_rows(repetitions)
    return Measurement(settings, repetitions, play, lacking, n_rows)


def play(title: str, repetition: int) -> Record:
    """Test error under each budget and without one, and the out-of-bag error."""
    drawn = sets.draw(title, repetition)
    record: Record = {}
    limits = [*(budget * MICROS for budget in BUDGETS), None]
    for name in BASELINES:
        model = train_whole(drawn.training, name, repetition)
        *within, everything = evaluate(model.ensemble, drawn.testing, limits).errors
        record[name] = np.round(within, 4).tolist()
        record[f"{name}_all"] = round(everything, 6)
        if BASELINES[name].is_bagged:
            record[f"{name}_out_of_bag"] = model.card["out_of_bag_error"]
    return record


def train_whole(training: Dataset, algorithm: str, seed: int) -> Model:
    """Train as the service does, without folds."""
    params = BoostParams(algorithm, rounds=TREES, seed=seed)
    steps = train(training, params, folds=0)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            model: Model = end.value
            return model
