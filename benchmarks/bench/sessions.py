"""Steps of a session without any transport, and curves over many rows."""

from functools import partial
from typing import Any

import numpy as np

from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.state import Answer
from askless.core.simulation.curves import evaluate
from askless.core.table.dataset import Dataset
from askless.core.training.params import BoostParams
from benchmarks.bench.runs import sum_up, take_turns, timed
from benchmarks.bench.scale import Scale
from benchmarks.engine import train_ensemble
from benchmarks.made import make_table

POLICIES: tuple[str, ...] = ("ordered", "sample")
TRAINING_ROWS = 4_000
MAX_COST = 2.0
WARM_SESSIONS = 3
CALLS = ("observe", "next_question", "answer_to_question", "forecast")


def make_case(scale: Scale) -> tuple[Ensemble, Dataset]:
    """Stumps on features with costs, and rows that they were not trained on."""
    n_rows = TRAINING_ROWS + scale.curve_rows
    table = make_table(n_rows, scale.features, max_cost=MAX_COST)
    training = table.take(np.arange(TRAINING_ROWS))
    params = BoostParams("adaboost_bt", rounds=scale.stumps)
    ensemble = train_ensemble(training, params)
    assert len(ensemble.hypotheses) == scale.stumps
    return ensemble, table.take(np.arange(TRAINING_ROWS, n_rows))


def describe(scale: Scale, ensemble: Ensemble) -> dict[str, Any]:
    return {
        "hypotheses": scale.stumps,
        "features": scale.features,
        "features_used": int(ensemble.is_used.sum()),
    }


def measure_curves(scale: Scale) -> dict[str, Any]:
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
        "seconds": {policy: sum_up(taken) for policy, taken in seconds.items()},
    }


def measure_sessions(scale: Scale) -> dict[str, Any]:
    ensemble, rows = make_case(scale)
    budget = scale.budgets[-1] * MICROS_PER_UNIT
    calls = {}
    for policy in POLICIES:
        play(ensemble, rows, budget, policy, WARM_SESSIONS)
        taken = play(ensemble, rows, budget, policy, scale.sessions)
        calls[policy] = {name: quantiles(seconds) for name, seconds in taken.items()}
        print(f"sessions: {policy}", flush=True)
    return {
        "sessions": scale.sessions,
        "budget": scale.budgets[-1],
        **describe(scale, ensemble),
        "calls": calls,
    }


def quantiles(seconds: list[float]) -> dict[str, float]:
    p50, p95 = np.percentile(1e6 * np.array(seconds), (50, 95))
    return {
        "p50_us": round(float(p50), 1),
        "p95_us": round(float(p95), 1),
        "calls": len(seconds),
    }


def play(
    ensemble: Ensemble, rows: Dataset, budget: int, policy: str, n_sessions: int
) -> dict[str, list[float]]:
    """Play sessions to the end of a budget, timing each call.

    `answer_to_question` is the time from an answer to the next question: `observe`
    and `next_question`.
    """
    calls: dict[str, list[float]] = {name: [] for name in CALLS}
    for row in range(n_sessions):
        state = machine.start(ensemble, budget, policy=policy, stream=row)
        while state.next_feature_idx is not None:
            feature_idx = state.next_feature_idx
            value = float(rows.values[row, feature_idx])
            answers = [Answer(feature_idx, "value", value)]
            observing, state = timed(partial(machine.observe, ensemble, state, answers))
            asking, _ = timed(partial(machine.next_question, ensemble, state))
            telling, _ = timed(partial(machine.forecast, ensemble, state))
            taken = (observing, asking, observing + asking, telling)
            for name, seconds in zip(CALLS, taken, strict=True):
                calls[name].append(seconds)
    return calls
