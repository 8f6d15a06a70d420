"""Huang, Powers and Reyzin (2015), Figure 1: test error against budget, all rules.

Stumps; costs uniform on [0, 2], drawn anew with the rows of every repetition.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from askless.core.codes.binning import Binned, bin_values
from askless.core.model.ensemble import Ensemble
from askless.core.simulation.curves import evaluate
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round
from benchmarks.data import MICROS
from benchmarks.engine import boost_rounds
from benchmarks.papers import sets
from benchmarks.papers.runs import Record
from benchmarks.papers.sets import SETS, Draw

TITLES = tuple(SETS)
BUDGETS = tuple(range(2, 41, 2))
ROUNDS = 500
SETTINGS = {"budgets": BUDGETS, "rounds": ROUNDS, "max_cost": sets.MAX_COST}
RULES = {
    "greedy": "adaboost_bt_greedy",
    "smoothed": "adaboost_bt_smoothed",
    "speedboost": "speedboost",
    "hybrid": "hybrid",
}


def play(title: str, repetition: int) -> Record:
    """Test error of every algorithm under every budget, on the same rows and costs."""
    drawn = sets.draw(title, repetition)
    binned = bin_values(drawn.training)
    record: Record = {"n_features": sets.count_features(drawn)}
    record |= play_adaboost(title, drawn, binned, repetition)
    for name, rule in RULES.items():
        rounds = train(drawn.training, binned, rule, 0)
        ensemble = make_ensemble(drawn.training, BoostParams(rule), rounds)
        record[name] = errors(ensemble, drawn.testing, "ordered")
        record[f"{name}_end"] = [len(rounds), round(rounds[-1].spent / MICROS, 3)]
    return record


def play_adaboost(title: str, drawn: Draw, binned: Binned, seed: int) -> Record:
    """One training of AdaBoost: whole, sampled (RS), and stopped by the budget (BT).

    RS draws from AdaBoost as long as the paper ran it. BT is stopped by the budget
    alone. Both also with all costs 1, which don't change the training.
    """
    n_rounds = SETS[title].rounds
    rounds = train(drawn.training, binned, "adaboost_bt", n_rounds)
    params = BoostParams("adaboost_bt")
    whole = make_ensemble(drawn.training, params, rounds[:n_rounds])
    stopped = make_ensemble(drawn.training, params, rounds[:ROUNDS])
    record: Record = {
        "adaboost": round(evaluate(whole, drawn.testing, (None,)).errors[0], 6),
        "rs": errors(whole, drawn.testing, "sample_reyzin", seed),
        "bt": errors(stopped, drawn.testing, "ordered"),
    }
    testing = sets.with_unit_costs(drawn.testing)
    unit = {"catalogue": testing.catalogue}
    record["rs_unit"] = errors(replace(whole, **unit), testing, "sample_reyzin", seed)
    record["bt_unit"] = errors(replace(stopped, **unit), testing, "ordered")
    return record


def train(
    training: Dataset, binned: Binned, algorithm: str, n_least: int
) -> list[Round]:
    """Boost `n_least` rounds, then on until every budget is spent or `ROUNDS`.

    Rounds after the first one that the largest budget can't pay change nothing.
    """
    params = BoostParams(algorithm, rounds=max(ROUNDS, n_least))
    rounds: list[Round] = []
    for added in boost_rounds(training, params, binned):
        rounds.append(added)
        is_spent = added.spent > BUDGETS[-1] * MICROS
        if len(rounds) >= n_least and (is_spent or len(rounds) >= ROUNDS):
            break
    return rounds


def errors(
    ensemble: Ensemble, testing: Dataset, policy: str, seed: int = 0
) -> list[float]:
    """Test error under each budget."""
    limits = [budget * MICROS for budget in BUDGETS]
    curve = evaluate(ensemble, testing, limits, policy, seed)
    return np.round(curve.errors, 4).tolist()


measure = partial(sets.plan, TITLES, SETTINGS, play, (100, 10))
