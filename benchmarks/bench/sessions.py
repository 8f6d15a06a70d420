"""Steps of a session without any transport, and curves over many rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench.children import in_child
from benchmarks.bench.clock import quantiles, spread, take_turns, timed
from benchmarks.bench.scale import Scale
from benchmarks.bench.tables import make_table
from core.model.ensemble import Ensemble
from core.session import machine
from core.session.curves import evaluate
from core.table.binning import bin_values
from core.table.dataset import Dataset
from core.table.prices import MICROS_PER_UNIT
from core.training.algorithms import make_ensemble
from core.training.boosting import boost, initial_weights
from core.training.params import BoostParams

POLICIES: tuple[str, ...] = ("ordered", "sample")
TRAINING_ROWS = 4_000
MAX_COST = 2.0
WARM_SESSIONS = 3


def measure_sessions(scale: Scale) -> dict[str, Any]:
    result: dict[str, Any] = in_child(run_sessions, scale)
    return result


def measure_curves(scale: Scale) -> dict[str, Any]:
    result: dict[str, Any] = in_child(run_curves, scale)
    return result


def make_case(scale: Scale) -> tuple[Ensemble, Dataset]:
    """Stumps on features with costs, and rows that they were not trained on."""
    n_rows = TRAINING_ROWS + scale.curve_rows
    table = make_table(n_rows, scale.features, max_cost=MAX_COST)
    training = table.take(np.arange(TRAINING_ROWS))
    params = BoostParams("adaboost_bt", rounds=scale.stumps)
    weights = initial_weights(training)
    rounds = list(boost(bin_values(training), weights, training.catalogue, params))
    assert len(rounds) == scale.stumps
    testing = table.take(np.arange(TRAINING_ROWS, n_rows))
    return make_ensemble(training, params, rounds), testing


def describe(scale: Scale, ensemble: Ensemble) -> dict[str, Any]:
    return {
        "hypotheses": scale.stumps,
        "features": scale.features,
        "features_used": int(ensemble.is_used.sum()),
    }


def run_curves(scale: Scale) -> dict[str, Any]:
    ensemble, rows = make_case(scale)
    limits = [budget * MICROS_PER_UNIT for budget in scale.budgets]
    tasks = {
        policy: (lambda p=policy: timed(lambda: evaluate(ensemble, rows, limits, p))[0])
        for policy in POLICIES
    }
    seconds = take_turns(tasks, scale.runs, "curves")
    return {
        "rows": rows.n_samples,
        "budgets": len(limits),
        **describe(scale, ensemble),
        "seconds": {policy: spread(taken) for policy, taken in seconds.items()},
    }


def run_sessions(scale: Scale) -> dict[str, Any]:
    ensemble, rows = make_case(scale)
    budget = scale.budgets[-1] * MICROS_PER_UNIT
    calls = {}
    for policy in POLICIES:
        play(ensemble, rows, budget, policy, WARM_SESSIONS)
        calls[policy] = {
            name: quantiles(seconds)
            for name, seconds in play(
                ensemble, rows, budget, policy, scale.sessions
            ).items()
        }
        print(f"sessions: {policy}", flush=True)
    return {
        "sessions": scale.sessions,
        "budget": scale.budgets[-1],
        **describe(scale, ensemble),
        "calls": calls,
    }


def play(
    ensemble: Ensemble, rows: Dataset, budget: int, policy: str, n_sessions: int
) -> dict[str, list[float]]:
    """Play sessions to the end of a budget, timing each call.

    `answer_to_question` is the time from an answer to the next question: `observe`
    and `next_question`.
    """
    calls: dict[str, list[float]] = {
        "observe": [],
        "next_question": [],
        "answer_to_question": [],
        "forecast": [],
    }
    for row in range(n_sessions):
        state = machine.start(ensemble, budget, policy=policy, stream=row)
        while state.next_feature_idx is not None:
            feature_idx = state.next_feature_idx
            value = float(rows.values[row, feature_idx])
            observing, state = timed(
                lambda s=state, f=feature_idx, v=value: machine.observe(
                    ensemble, s, f, "value", v
                )
            )
            asking, _ = timed(lambda s=state: machine.next_question(ensemble, s))
            telling, _ = timed(lambda s=state: machine.forecast(ensemble, s))
            calls["observe"].append(observing)
            calls["next_question"].append(asking)
            calls["answer_to_question"].append(observing + asking)
            calls["forecast"].append(telling)
    return calls
