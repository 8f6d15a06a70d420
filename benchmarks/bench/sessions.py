"""Steps of a session without any transport, and curves over many rows."""

import gc
import time
from functools import partial
from typing import Any

import numpy as np

from askless.app.server import spare_collections
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.model.ensemble import Ensemble
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.session import machine
from askless.core.session.policies import POLICIES as ASKING
from askless.core.session.spending import LIMITED
from askless.core.session.state import Answer
from askless.core.simulation.curves import evaluate
from askless.core.table.check import CheckedTable
from askless.core.table.dataset import Dataset
from askless.core.table.spec import TableSpec
from askless.core.training.params import BoostParams
from askless.core.work import run_to_end
from benchmarks.bench.runs import sum_up, take_turns, timed
from benchmarks.bench.scale import Scale
from benchmarks.engine import train_ensemble
from benchmarks.made import make_table

POLICIES: tuple[str, ...] = ("ordered", "sample")
TRAINING_ROWS = 4_000
MAX_COST = 2.0
WARM_SESSIONS = 3
CALLS = ("observe", "next_question", "answer_to_question", "forecast")


def make_case(scale: Scale, n_features: int = 0) -> tuple[Ensemble, Dataset]:
    """Stumps on features with costs, and rows that they were not trained on."""
    n_rows = TRAINING_ROWS + scale.curve_rows
    table = make_table(n_rows, n_features or scale.features, max_cost=MAX_COST)
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
        "processor": {width: measure_width(scale, width) for width in scale.widths},
    }


def measure_width(scale: Scale, n_features: int) -> dict[str, Any]:
    """Processor time from an answer to the next question and prediction, by policy.

    Of the model that `auto` makes of some of the rows, and of boosted stumps. Garbage
    is collected as seldom as by the server, and models are kept like its modules.
    """
    boosted, rows = make_case(scale, n_features)
    params = BoostParams("auto", effort="fast")
    spec = TrainingSpec(TableSpec("y"), boost=params, folds=2)
    few = rows.take(np.arange(min(scale.auto_rows, rows.n_samples)))
    auto = run_to_end(train(CheckedTable(few, None, ()), spec)).ensemble
    assert auto.panels is not None
    auto.panels.prepare()
    budget = scale.budgets[-1] * MICROS_PER_UNIT
    models = dict.fromkeys(POLICIES, boosted)
    models |= {name: auto for name in LIMITED if ASKING[name].serves(auto)}
    spare_collections()
    figures: dict[str, Any] = {}
    for policy, ensemble in models.items():
        play(ensemble, rows, budget, policy, WARM_SESSIONS)
        seconds = time_answers(ensemble, rows, budget, policy, scale.sessions)
        p50, p99 = np.percentile(1e3 * np.array(seconds), (50, 99))
        figures[policy] = {
            "p50_ms": round(float(p50), 3),
            "p99_ms": round(float(p99), 3),
            "calls": len(seconds),
        }
        print(
            f"sessions: {n_features} features, {policy}: {figures[policy]}", flush=True
        )
    gc.unfreeze()
    return figures


def time_answers(
    ensemble: Ensemble, rows: Dataset, budget: int, policy: str, n_sessions: int
) -> list[float]:
    """Play sessions; the processor's seconds of each answer and what follows it."""
    seconds = []
    for row in range(n_sessions):
        state = machine.start(ensemble, budget, policy=policy, stream=row)
        while state.next_feature_idx is not None:
            feature_idx = state.next_feature_idx
            value = float(rows.values[row, feature_idx])
            start = time.thread_time()
            state = machine.observe(
                ensemble, state, [Answer(feature_idx, "value", value)]
            )
            machine.next_question(ensemble, state)
            machine.forecast(ensemble, state)
            seconds.append(time.thread_time() - start)
    return seconds


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
