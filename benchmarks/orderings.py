"""Do the algorithms order as Huang, Powers and Reyzin (2015) found?

Paired draws: every algorithm sees the same costs, training rows and test rows.
`python -m benchmarks.orderings [--draws 20]` goes on from what is in
`benchmarks/results/orderings.json`; `--summary` only shows it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.data import MICROS, Table, load_all
from core.binning import bin_values
from core.boosting import BoostParams, boost
from core.evaluate import evaluate
from core.training import make_ensemble
from core.types import Dataset, FloatArray, PolicyName

RESULTS = Path(__file__).parent / "results" / "orderings.json"
SEED = 2015
N_DRAWS = 20
ROUNDS = 400
TAU = 1.0
N_TRAIN = 1000
N_TEST = {"ocr17": 5000, "ocr49": 5000, "splice_onehot": 2175, "adult_onehot": 5000}
BUDGETS = tuple(range(2, 25, 2))
MAX_COST = 2.0

WITHIN = 0.3
SAMPLE_RATIO = 1.7


@dataclass(frozen=True)
class Contest:
    """A column of the tables: a training and the policies that play it."""

    algorithm: str
    policies: tuple[tuple[str, PolicyName], ...]


CONTESTS = (
    Contest("adaboost_bt_greedy", (("greedy", "ordered"),)),
    Contest("adaboost_bt_smoothed", (("smoothed", "ordered"),)),
    Contest("adaboost_bt", (("bt", "ordered"), ("sample", "sample"))),
    Contest("speedboost", (("speedboost", "ordered"),)),
    Contest("hybrid", (("hybrid", "ordered"),)),
)
COLUMNS = tuple(name for contest in CONTESTS for name, _ in contest.policies)
DIFFERENCES = (
    ("greedy", "smoothed"),
    ("smoothed", "bt"),
    ("speedboost", "greedy"),
    ("hybrid", "smoothed"),
    ("sample", "bt"),
)

Draw = dict[str, list[float]]
Results = dict[str, Any]


def settings() -> dict[str, Any]:
    """What a stored draw depends on; others are not mixed with it."""
    return {
        "seed": SEED,
        "rounds": ROUNDS,
        "tau": TAU,
        "n_train": N_TRAIN,
        "n_test": N_TEST,
        "budgets": list(BUDGETS),
        "max_cost": MAX_COST,
        "algorithms": list(COLUMNS),
    }


def play_draw(table: Table, draw: int) -> Draw:
    """Raw test error under every budget, by algorithm."""
    generator = np.random.default_rng([SEED, draw])
    order = generator.permutation(table.n_samples)
    units = np.round(generator.uniform(0.0, MAX_COST, table.n_features), 6)
    costs = np.rint(units * MICROS).astype(np.int64)
    training = table.training(order[:N_TRAIN], costs)
    testing = table.testing(order[N_TRAIN : N_TRAIN + N_TEST[table.name]], training)
    errors: Draw = {}
    for contest in CONTESTS:
        errors |= play_contest(contest, training, testing, draw)
    return errors


def play_contest(
    contest: Contest, training: Dataset, testing: Dataset, seed: int
) -> Draw:
    """Train once and evaluate with each policy."""
    params = BoostParams(contest.algorithm, rounds=ROUNDS, tau=TAU)
    signed_weights = training.signs * training.weights
    rounds = list(
        boost(bin_values(training), signed_weights, training.catalogue, params)
    )
    ensemble = make_ensemble(training, params, rounds)
    limits = [budget * MICROS for budget in BUDGETS]
    curves = {
        name: evaluate(ensemble, testing, limits, policy, seed)
        for name, policy in contest.policies
    }
    return {
        name: [round(error, 6) for error in curve.errors]
        for name, curve in curves.items()
    }


def read_results() -> Results:
    """Read what earlier runs left, if it was measured under the same settings."""
    if not RESULTS.is_file():
        return {"settings": settings(), "draws": {}}
    results: Results = json.loads(RESULTS.read_text())
    if results["settings"] != settings():
        sys.exit(f"{RESULTS.name} holds draws under other settings: move it away first")
    return results


def write_results(results: Results) -> None:
    """Replace the file whole, so that an interrupted run leaves a readable one."""
    RESULTS.parent.mkdir(exist_ok=True)
    sets = ",\n".join(
        f"  {json.dumps(name)}: [\n   "
        + ",\n   ".join(json.dumps(draw) for draw in draws)
        + "\n  ]"
        for name, draws in results["draws"].items()
    )
    head = json.dumps(results["settings"])
    text = f'{{\n "settings": {head},\n "draws": {{\n{sets}\n }}\n}}\n'
    draft = RESULTS.with_suffix(".part")
    draft.write_text(text)
    draft.replace(RESULTS)


def run(tables: list[Table], n_draws: int, results: Results) -> None:
    """Play the draws that are missing, all sets in turn."""
    for draw in range(n_draws):
        for table in tables:
            draws = results["draws"].setdefault(table.name, [])
            if len(draws) > draw:
                continue
            start = time.perf_counter()
            draws.append(play_draw(table, draw))
            write_results(results)
            print(
                f"draw {draw + 1}/{n_draws} {table.name}: "
                f"{time.perf_counter() - start:.1f} s",
                file=sys.stderr,
                flush=True,
            )


def mean_errors(draws: list[Draw]) -> dict[str, FloatArray]:
    """Mean over the budgets in percent, of each draw; by algorithm."""
    return {
        name: 100 * np.mean([draw[name] for draw in draws], axis=1) for name in COLUMNS
    }


def paired_interval(one: FloatArray, other: FloatArray) -> tuple[float, float]:
    """Mean difference and half the width of its 95 % interval (Student's t)."""
    differences = one - other
    half = stats.t.ppf(0.975, differences.size - 1) * stats.sem(differences)
    return float(differences.mean()), float(half)


def judge(errors: dict[str, FloatArray]) -> dict[str, bool]:
    """Decide each claim of issue 2 on the means over draws."""
    means = {name: float(values.mean()) for name, values in errors.items()}
    return {
        f"greedy <= smoothed (+{WITHIN})": means["greedy"]
        <= means["smoothed"] + WITHIN,
        f"smoothed <= bt (+{WITHIN})": means["smoothed"] <= means["bt"] + WITHIN,
        f"speedboost = greedy (+-{WITHIN})": abs(means["speedboost"] - means["greedy"])
        <= WITHIN,
        f"sample >= {SAMPLE_RATIO} x bt": means["sample"] >= SAMPLE_RATIO * means["bt"],
    }


def show(results: Results, n_draws: int) -> bool:
    """Print means, differences and verdicts; whether every claim holds."""
    by_set = {
        name: mean_errors(draws[:n_draws])
        for name, draws in results["draws"].items()
        if len(draws) > 1
    }
    print(
        f"costs uniform on [0, {MAX_COST:g}], {ROUNDS} rounds, {N_TRAIN} training "
        "rows; raw test error in %,\nmean over the budgets "
        f"{BUDGETS[0]}, {BUDGETS[1]} ... {BUDGETS[-1]} and over the draws\n"
    )
    print(f"{'set':<15}{'draws':>6}" + "".join(f"{name:>12}" for name in COLUMNS))
    for name, errors in by_set.items():
        cells = "".join(f"{errors[column].mean():>12.2f}" for column in COLUMNS)
        print(f"{name:<15}{errors['bt'].size:>6}{cells}")
    print("\npaired differences, points, with 95 % intervals")
    headings = [f"{one} - {other}" for one, other in DIFFERENCES]
    print(f"{'set':<15}" + "".join(f"{heading:>22}" for heading in headings))
    for name, errors in by_set.items():
        pairs = (paired_interval(errors[a], errors[b]) for a, b in DIFFERENCES)
        cells = "".join(f"{mean:>14.2f} +- {half:4.2f}" for mean, half in pairs)
        print(f"{name:<15}{cells}")
    print()
    holds = True
    for name, errors in by_set.items():
        ratio = errors["sample"].mean() / errors["bt"].mean()
        for claim, is_true in judge(errors).items():
            holds &= is_true
            note = f"  ({ratio:.2f} x)" if claim.startswith("sample") else ""
            print(f"{name:<15}{claim:<30}{'holds' if is_true else 'FAILS'}{note}")
    return holds and bool(by_set)


def main() -> int:
    """Run what is missing and show the whole; 1 if a claim fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=N_DRAWS)
    parser.add_argument("--summary", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    results = read_results()
    if not arguments.summary:
        run(load_all(list(N_TEST)), arguments.draws, results)
    return 0 if show(results, arguments.draws) else 1


if __name__ == "__main__":
    sys.exit(main())
