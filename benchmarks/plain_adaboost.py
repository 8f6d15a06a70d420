"""Test error of plain AdaBoost on stumps without a budget, beside the papers'.

`python -m benchmarks.plain_adaboost`
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from benchmarks.data import Table, load_all
from core.binning import bin_values
from core.boosting import BoostParams, boost
from core.evaluate import evaluate
from core.training import make_ensemble

ROUNDS = 500
N_TRAIN = 1000
N_SPLITS = 4
SEED = 1
UNLIMITED = (None,)


@dataclass(frozen=True)
class Claim:
    """What a set should come to, in percent; Reyzin's figures as issue 2 gives them."""

    name: str
    n_test: int
    reyzin: float | None = None
    target: float | None = None
    tolerance: float | None = None


CLAIMS = (
    Claim("splice_onehot", 2175, 8.1, 8.3, 1.0),
    Claim("ocr17", 5000, 0.8, 1.0, 0.4),
    Claim("ocr49", 5000, 6.5, 6.3, 1.0),
    Claim("splice", 2175),
)


def error_of_split(table: Table, n_test: int, seed: list[int]) -> float:
    """Train on random rows and give the test error in percent on others."""
    order = np.random.default_rng(seed).permutation(table.n_samples)
    training = table.training(order[:N_TRAIN])
    testing = table.testing(order[N_TRAIN : N_TRAIN + n_test], training)
    params = BoostParams("adaboost", rounds=ROUNDS)
    signed_weights = training.signs * training.weights
    rounds = list(
        boost(bin_values(training), signed_weights, training.catalogue, params)
    )
    ensemble = make_ensemble(training, params, rounds)
    return 100 * evaluate(ensemble, testing, UNLIMITED).errors[0]


def verdict(claim: Claim, mean: float) -> str:
    if claim.target is None or claim.tolerance is None:
        return ""
    return "reached" if abs(mean - claim.target) <= claim.tolerance else "MISSED"


def main() -> int:
    """Print a table; 1 if a target is missed."""
    tables = {table.name: table for table in load_all([c.name for c in CLAIMS])}
    print(
        f"plain AdaBoost on stumps, {ROUNDS} rounds, {N_TRAIN} training rows, "
        f"no budget, mean of {N_SPLITS} splits; errors in %\n"
    )
    heading = f"{'set':<14}{'test':>6}{'error':>8}{'sd':>6}{'Reyzin':>8}{'target':>13}"
    print(f"{heading}  verdict")
    verdicts = []
    for claim in CLAIMS:
        if claim.name not in tables:
            continue
        errors = [
            error_of_split(tables[claim.name], claim.n_test, [SEED, split])
            for split in range(N_SPLITS)
        ]
        mean, spread = float(np.mean(errors)), float(np.std(errors, ddof=1))
        reyzin = "" if claim.reyzin is None else f"{claim.reyzin:.1f}"
        target = ""
        if claim.target is not None:
            target = f"{claim.target:.1f} +- {claim.tolerance:.1f}"
        verdicts.append(verdict(claim, mean))
        print(
            f"{claim.name:<14}{claim.n_test:>6}{mean:>8.2f}{spread:>6.2f}"
            f"{reyzin:>8}{target:>13}  {verdicts[-1]}",
            flush=True,
        )
    return 1 if "MISSED" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
