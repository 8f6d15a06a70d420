"""One pass over tables of rows, beside batch boosting, by budget."""

import numpy as np

from askless.core.codes.binned_table import code_table
from askless.core.model.ensemble import Ensemble
from askless.core.simulation.curves import evaluate
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import grow_ensemble, make_ensemble
from askless.core.training.params import BoostParams
from benchmarks import data
from benchmarks.data import MICROS, MissingDataError, Table
from benchmarks.engine import train_ensemble
from benchmarks.online.kept import Kept, Record

NAMES = ("ocr49", "splice", "spambase")
ROUNDS, N_DRAWS = 300, 3
#: Most that a session may spend, as shares of all prices; None: no limit.
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, None)
#: Rows to train on, and most rows to test on.
SHARE_TRAIN, MOST_TEST = 0.7, 2_000


def play_all(kept: Kept) -> None:
    """Play every set that is there."""
    for name in NAMES:
        try:
            table = data.load(name)
        except MissingDataError as error:
            print(f"skipped {error}")
            continue
        for draw in range(N_DRAWS):
            kept.measure(
                f"table {name} draw {draw} rounds {ROUNDS}",
                lambda one=table, at=draw: play(one, at),
            )


def play(table: Table, draw: int) -> Record:
    """Return the errors of policy `sample`, online and of batch AdaBoostRS."""
    draws = np.random.default_rng([draw, 28])
    order = draws.permutation(table.n_samples)
    costs = draws.integers(1, 11, table.n_features) * MICROS
    n_train = int(SHARE_TRAIN * order.size)
    training = table.training(order[:n_train], costs)
    testing = table.encode(order[n_train:][:MOST_TEST], training.catalogue)
    params = BoostParams("online", rounds=ROUNDS, seed=draw)
    rounds = list(grow_ensemble(code_table(training), params, (), is_strict=False))
    online = make_ensemble(training, params, rounds)
    batch = train_ensemble(training, BoostParams("adaboost_rs", rounds=ROUNDS))
    return {
        "online": sample_errors(online, testing, draw),
        "batch": sample_errors(batch, testing, draw),
    }


def sample_errors(ensemble: Ensemble, testing: Dataset, seed: int) -> list[float]:
    """Return the errors of policy `sample` under each budget."""
    total = int(ensemble.catalogue.costs.sum())
    budgets = [None if share is None else int(share * total) for share in SHARES]
    curve = evaluate(ensemble, testing, budgets, "sample", seed=seed)
    return [round(float(error), 5) for error in curve.errors]
