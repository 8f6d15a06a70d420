"""Estimate policies from logged cases 200 times each: `make off-policy`.

Fills in docs/learning.md.
"""

import sys
from dataclasses import replace

import numpy as np
from scipy import stats

from askless.core.arrays import BoolArray
from askless.core.model.ensemble import Ensemble
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.simulation.off_policy import MEASURES, estimate_policy
from askless.core.table.check import CheckedTable
from askless.core.table.dataset import Dataset
from askless.core.table.spec import TableSpec
from askless.core.training.params import BoostParams
from askless.core.work import end_of
from benchmarks.documents import keep_rows
from benchmarks.made import make_table
from benchmarks.off_policy.cases import Log

DOCUMENT = "learning"

SEED = 3
N_TRAIN, N_POPULATION, N_FEATURES = 400, 80, 8
N_REPETITIONS = 200
BUDGET = 2_500_000
EXPLORE = 0.2
ALGORITHMS = ("adaboost_bt_smoothed", "adaboost_bt_greedy", "adaboost_bt")
N_CASES = (400, 1600)


def fit(training: Dataset, algorithm: str) -> Ensemble:
    """Train one model, calibrated on two folds."""
    boost = BoostParams(algorithm, rounds=40)
    spec = TrainingSpec(TableSpec("label"), boost=boost, folds=2)
    return end_of(train(CheckedTable(training, None, ()), spec)).ensemble


def tell_share(is_so: BoolArray) -> str:
    """Return a share in percent with its 95 % interval (Clopper and Pearson)."""
    n_so, n_all = int(is_so.sum()), len(is_so)
    if n_all == 0:
        return "–"
    low, high = stats.binomtest(n_so, n_all).proportion_ci()
    return f"{100 * n_so / n_all:.1f} ({100 * low:.1f}–{100 * high:.1f})"


def measure(log: Log, n_cases: int) -> list[str]:
    """Return cells: support, verdicts, and how often each interval holds the truth."""
    truth = log.find_truth()
    has_verdict = np.zeros(N_REPETITIONS, np.bool_)
    holds = np.zeros((N_REPETITIONS, 3, len(MEASURES)), np.bool_)
    supports, effective = np.zeros((N_REPETITIONS, 3)), np.zeros(N_REPETITIONS)
    for repetition in range(N_REPETITIONS):
        random = np.random.default_rng((SEED, n_cases, repetition))
        found = estimate_policy(log.draw_cases(n_cases, random))
        has_verdict[repetition] = found.lack is None
        supports[repetition], effective[repetition] = found.support, found.n_effective
        kinds = found.weighted, found.normalised, found.robust
        for place, figures in enumerate(kinds):
            for measure_idx, one in enumerate(figures):
                assert one.interval is not None, "there are many cases"
                low, high = one.interval
                # Where all cases are alike the interval is a point, and floats round.
                margin = 1e-9 * max(1.0, abs(truth[measure_idx]))
                is_in = low - margin <= truth[measure_idx] <= high + margin
                holds[repetition, place, measure_idx] = is_in
    shares = " / ".join(f"{100 * one:.0f}" for one in supports.mean(axis=0))
    cells = [shares, f"{effective.mean():.0f}", tell_share(has_verdict)]
    cells += [tell_share(holds[:, 2, idx]) for idx in range(len(MEASURES))]
    return [*cells, tell_share(holds[:, 0, 1]), tell_share(holds[:, 1, 1])]


def main() -> None:
    """Measure the policies named, or all, and write the document's table."""
    table = make_table(N_TRAIN + N_POPULATION, N_FEATURES, max_cost=1.5, seed=SEED)
    training = replace(
        table.take(slice(N_TRAIN)), weights=np.full(N_TRAIN, 1.0 / N_TRAIN)
    )
    population = table.take(slice(N_TRAIN, None))
    logger = fit(training, ALGORITHMS[0])
    for name in sys.argv[1:] or ALGORITHMS:
        log = Log(logger, fit(training, name), population, BUDGET, EXPLORE)
        for n_cases in N_CASES:
            row = (name, f"{n_cases:,}", *measure(log, n_cases))
            print(*row, sep=" | ", flush=True)
            keep_rows(DOCUMENT, "off-policy", [row], n_keys=2)


if __name__ == "__main__":
    main()
