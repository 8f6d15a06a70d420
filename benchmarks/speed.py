"""How long training, evaluation and a session's steps take; LightGBM beside it.

Everything in one process, the parties of a comparison in turn; medians with the
least and the greatest. `python -m benchmarks.speed` writes
`benchmarks/results/speed.json`; `--only training` (or `curves`, `sessions`)
replaces just that part.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numba
import numpy as np

from benchmarks.data import MICROS
from core import anytime
from core.binning import bin_values
from core.boosting import BoostParams, boost
from core.evaluate import evaluate
from core.training import make_ensemble
from core.types import Catalogue, ClassLabel, Dataset, Ensemble, Feature, PolicyName

RESULTS = Path(__file__).parent / "results" / "speed.json"
SEED = 7
RUNS = 7
THREADS = 2

TRAINING_SHAPE = (100_000, 200)
TRAINING_ROUNDS = 100

N_STUMPS = 500
N_FEATURES = 60
N_ROWS = 10_000
BUDGETS = tuple(range(2, 25, 2))
N_SESSIONS = 100
POLICIES: tuple[PolicyName, ...] = ("ordered", "sample")

PEER = {
    "objective": "binary",
    "num_leaves": 2,
    "max_bin": 255,
    "num_threads": THREADS,
    "verbosity": -1,
}
PEER_VARIANTS = {
    f"{layout}{'_quantized' if is_quantized else ''}": {
        f"force_{layout}_wise": True,
        "use_quantized_grad": is_quantized,
    }
    for layout in ("col", "row")
    for is_quantized in (False, True)
}

Figures = dict[str, float]


def make_dataset(n_samples: int, n_features: int, max_cost: float = 0.0) -> Dataset:
    """Normal features; the class is the sign of a noisy sum over half of them."""
    generator = np.random.default_rng(SEED)
    values = generator.standard_normal((n_samples, n_features))
    slopes = generator.standard_normal(n_features // 2)
    score = np.tanh(values[:, : n_features // 2]) @ slopes
    noise = score.std() / 2 * generator.standard_normal(n_samples)
    costs = np.full(n_features, MICROS)
    if max_cost:
        units = np.round(generator.uniform(0.0, max_cost, n_features), 6)
        costs = np.rint(units * MICROS).astype(np.int64)
    return Dataset(
        catalogue=Catalogue(
            tuple(Feature(f"x{idx}", cost=int(cost)) for idx, cost in enumerate(costs))
        ),
        classes=(ClassLabel("0", "0"), ClassLabel("1", "1")),
        values=values,
        targets=(score + noise > 0).astype(np.int64),
        weights=np.full(n_samples, 1.0 / n_samples),
    )


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def spread(seconds: list[float]) -> Figures:
    return {
        "median_s": round(float(np.median(seconds)), 4),
        "min_s": round(min(seconds), 4),
        "max_s": round(max(seconds), 4),
        "runs": len(seconds),
    }


def quantiles(seconds: list[float]) -> Figures:
    p50, p95 = np.percentile(1e6 * np.array(seconds), (50, 95))
    return {"p50_us": round(p50, 1), "p95_us": round(p95, 1), "calls": len(seconds)}


def run_ours(dataset: Dataset) -> tuple[float, float]:
    """Seconds of binning and of boosting."""
    binning_s, binned = timed(lambda: bin_values(dataset))
    signed_weights = dataset.signs * dataset.weights
    params = BoostParams("adaboost", rounds=TRAINING_ROUNDS)
    boosting_s, rounds = timed(
        lambda: list(boost(binned, signed_weights, dataset.catalogue, params))
    )
    assert len(rounds) == TRAINING_ROUNDS
    return binning_s, boosting_s


def run_peer(
    lightgbm: Any, dataset: Dataset, variant: Mapping[str, Any]
) -> tuple[float, float]:
    """Seconds of constructing LightGBM's data set and of its boosting."""
    params = PEER | variant
    data = lightgbm.Dataset(dataset.values, dataset.targets, params=dict(params))
    binning_s, _ = timed(data.construct)
    boosting_s, booster = timed(
        lambda: lightgbm.train(dict(params), data, TRAINING_ROUNDS)
    )
    assert booster.num_trees() == TRAINING_ROUNDS
    return binning_s, boosting_s


def measure_training(n_runs: int) -> dict[str, Any]:
    """Time our boosting and every variant of LightGBM's, in turn."""
    dataset = make_dataset(*TRAINING_SHAPE)
    few = dataset.take(np.arange(2000))
    parties: dict[str, Callable[[Dataset], tuple[float, float]]] = {"ours": run_ours}
    try:
        import lightgbm
    except ImportError:
        note = "LightGBM is not installed (pip install -e '.[bench]'): not compared"
        print(note, file=sys.stderr)
    else:
        for name, variant in PEER_VARIANTS.items():
            parties[name] = lambda data, v=variant: run_peer(lightgbm, data, v)
    for run in parties.values():
        run(few)
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in parties}
    for number in range(n_runs):
        for name, run in parties.items():
            runs[name].append(run(dataset))
        print(f"training: run {number + 1}/{n_runs}", file=sys.stderr, flush=True)
    figures: dict[str, Any] = {
        name: {
            "binning": spread([binning for binning, _ in pairs]),
            "boosting": spread([boosting for _, boosting in pairs]),
            "both": spread([binning + boosting for binning, boosting in pairs]),
        }
        for name, pairs in runs.items()
    }
    n_samples, n_features = TRAINING_SHAPE
    result: dict[str, Any] = {
        "rows": n_samples,
        "features": n_features,
        "rounds": TRAINING_ROUNDS,
        "threads": THREADS,
        "parties": figures,
    }
    peers = [name for name in figures if name != "ours"]
    if peers:
        result["fastest"] = {
            part: compare(figures, peers, part) for part in ("boosting", "both")
        }
    return result


def compare(figures: Mapping[str, Any], peers: list[str], part: str) -> dict[str, Any]:
    """LightGBM's fastest variant by our time, above 1 we are faster.

    By medians, and by the least times, which other work on the machine disturbs less.
    """
    result: dict[str, Any] = {}
    for statistic in ("median_s", "min_s"):
        fastest = min(peers, key=lambda name: figures[name][part][statistic])
        theirs, ours = (
            figures[fastest][part][statistic],
            figures["ours"][part][statistic],
        )
        result[statistic] = {
            "variant": fastest,
            "times_faster": round(theirs / ours, 2),
        }
    return result


def make_big_ensemble() -> tuple[Ensemble, Dataset]:
    """500 stumps on 60 features with costs, and 10,000 rows."""
    dataset = make_dataset(N_ROWS, N_FEATURES, max_cost=2.0)
    training = dataset.take(np.arange(4000))
    params = BoostParams("adaboost_bt", rounds=N_STUMPS)
    rounds = list(
        boost(
            bin_values(training),
            training.signs * training.weights,
            training.catalogue,
            params,
        )
    )
    ensemble = make_ensemble(training, params, rounds)
    assert len(ensemble.hypotheses) == N_STUMPS
    return ensemble, dataset


def measure_curves(n_runs: int) -> dict[str, Any]:
    """Time `evaluate` after a first call that compiles."""
    ensemble, dataset = make_big_ensemble()
    limits = [budget * MICROS for budget in BUDGETS]
    few = dataset.take(np.arange(10))
    figures: dict[str, Any] = {
        "rows": dataset.n_samples,
        "budgets": len(limits),
        "hypotheses": N_STUMPS,
        "features": N_FEATURES,
        "features_used": int(ensemble.is_used.sum()),
    }
    for policy in POLICIES:
        evaluate(ensemble, few, limits, policy)
        seconds = [
            timed(lambda p=policy: evaluate(ensemble, dataset, limits, p))[0]
            for _ in range(n_runs)
        ]
        figures[policy] = spread(seconds)
    return figures


def measure_sessions() -> dict[str, Any]:
    """Time what happens inside a session, without any transport."""
    ensemble, dataset = make_big_ensemble()
    figures: dict[str, Any] = {"hypotheses": N_STUMPS, "features": N_FEATURES}
    for policy in POLICIES:
        play_sessions(ensemble, dataset, policy, 2)
        calls = play_sessions(ensemble, dataset, policy, N_SESSIONS)
        figures[policy] = {name: quantiles(times) for name, times in calls.items()}
    return figures


def play_sessions(
    ensemble: Ensemble, dataset: Dataset, policy: PolicyName, n_sessions: int
) -> dict[str, list[float]]:
    """Play sessions to the end of a budget of 24, timing each call.

    `answer_to_question` is the time from an answer to the next question: `observe`
    and `next_question`.
    """
    calls: dict[str, list[float]] = {
        "start": [],
        "observe": [],
        "next_question": [],
        "answer_to_question": [],
        "forecast": [],
    }
    for row in range(n_sessions):
        seconds, state = timed(
            lambda r=row: anytime.start(
                ensemble, BUDGETS[-1] * MICROS, policy=policy, stream=r
            )
        )
        calls["start"].append(seconds)
        while state.next_feature_idx is not None:
            feature_idx = state.next_feature_idx
            value = float(dataset.values[row, feature_idx])
            observing, state = timed(
                lambda s=state, f=feature_idx, v=value: anytime.observe(
                    ensemble, s, f, "value", v
                )
            )
            asking, _ = timed(lambda s=state: anytime.next_question(ensemble, s))
            telling, _ = timed(lambda s=state: anytime.forecast(ensemble, s))
            calls["observe"].append(observing)
            calls["next_question"].append(asking)
            calls["answer_to_question"].append(observing + asking)
            calls["forecast"].append(telling)
    return calls


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    packages = ["numpy", "numba", "lightgbm"]
    found = {dist.name.lower() for dist in metadata.distributions()}
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages if name in found},
    }


def processor() -> str:
    """Name of the processor where the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def show(results: Mapping[str, Any]) -> None:
    """Print what was measured as tables."""
    if "training" in results:
        training = results["training"]
        print(
            f"\ntraining, {training['rows']:,} x {training['features']} numbers, "
            f"{training['rounds']} rounds, {training['threads']} threads; seconds, "
            "median (least to greatest)"
        )
        for name, parts in training["parties"].items():
            cells = "".join(
                f"  {part} {one['median_s']:6.3f} "
                f"({one['min_s']:.3f} to {one['max_s']:.3f})"
                for part, one in parts.items()
            )
            print(f"  {name:<20}{cells}")
        for part, statistics in training.get("fastest", {}).items():
            for statistic, one in statistics.items():
                print(
                    f"  {part}, {statistic}: {one['times_faster']:.2f} x as fast as "
                    f"LightGBM's fastest ({one['variant']})"
                )
    if "curves" in results:
        curves = results["curves"]
        print(
            f"\nevaluate, {curves['rows']:,} rows x {curves['budgets']} budgets, "
            f"{curves['hypotheses']} stumps, {curves['features']} features; seconds"
        )
        for policy in POLICIES:
            one = curves[policy]
            print(
                f"  {policy:<20}  {one['median_s']:.3f} "
                f"({one['min_s']:.3f} to {one['max_s']:.3f})"
            )
    if "sessions" in results:
        sessions = results["sessions"]
        print(
            f"\nsession in process, {sessions['hypotheses']} stumps, "
            f"{sessions['features']} features; microseconds, p50 (p95)"
        )
        for policy in POLICIES:
            cells = "".join(
                f"  {name} {one['p50_us']:.0f} ({one['p95_us']:.0f})"
                for name, one in sessions[policy].items()
            )
            print(f"  {policy:<8}{cells}")


def main() -> None:
    """Measure, write the results, show them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("training", "curves", "sessions"))
    parser.add_argument("--runs", type=int, default=RUNS)
    arguments = parser.parse_args()
    numba.set_num_threads(min(THREADS, numba.config.NUMBA_NUM_THREADS))
    results: dict[str, Any] = {}
    if arguments.only and RESULTS.is_file():
        results = json.loads(RESULTS.read_text())
    results["machine"] = machine()
    measures: dict[str, Callable[[], dict[str, Any]]] = {
        "curves": lambda: measure_curves(arguments.runs),
        "sessions": measure_sessions,
        "training": lambda: measure_training(arguments.runs),
    }
    for name, measure in measures.items():
        if arguments.only in (None, name):
            results[name] = measure()
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    show(results)


if __name__ == "__main__":
    main()
