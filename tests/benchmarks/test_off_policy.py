"""Intervals from logged cases hold the truth, and don't if propensities are wrong."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import Stump
from askless.core.simulation.off_policy import estimate_policy
from askless.core.table.catalogue import Catalogue, Feature
from askless.core.table.dataset import ClassLabel, Dataset
from benchmarks.off_policy.cases import Draw, Log

CATALOGUE = Catalogue(
    tuple(Feature(f"f{idx}", cost=cost) for idx, cost in enumerate((10, 20, 25, 30)))
)
CLASSES = (ClassLabel("0", "no"), ClassLabel("1", "yes"))
BUDGET, EXPLORE, N_CASES, N_REPETITIONS = 60, 0.4, 500, 60


def make_ensemble(**alphas):
    """Return stumps that vote 1 above 0.5, with these alphas, in this order."""
    idxs = [CATALOGUE.feature_idxs[name] for name in alphas]
    return Ensemble(
        CATALOGUE,
        CLASSES,
        hypotheses=tuple(Stump(idx, 0.5, (1,)) for idx in idxs),
        alphas=tuple(alphas.values()),
        priors=(0.5, 0.5),
        algorithm="adaboost_bt",
        policy="ordered",
    )


LOGGER = make_ensemble(f0=1.0, f1=0.9, f2=0.8, f3=0.7)
TARGET = make_ensemble(f3=1.0, f0=0.9, f2=0.5)


@dataclass
class WrongLog(Log):
    """A log whose chances are twice those at which it drew."""

    def trail(self, row, state):
        return replace(super().trail(row, state), explore=2 * state.explore)


def make_population():
    random = np.random.default_rng(4)
    values = random.integers(0, 2, (40, 4)).astype(np.float64)
    targets = (values.sum(axis=1) + random.normal(0, 1, 40) > 2).astype(np.int64)
    return Dataset(CATALOGUE, CLASSES, values, targets, np.full(40, 1 / 40), None)


def expect(kind):
    """Return the exact means over all draws: of robust figures, and of weights."""
    log = kind(LOGGER, TARGET, make_population(), BUDGET, EXPLORE)
    robust, weight = np.zeros(3), 0.0
    for row, draws in enumerate(log.plain):
        left = 1.0
        ends = []
        for place, one in enumerate(draws):
            chance = left * EXPLORE / one.n_open
            ends += [(chance, Draw(place, number)) for number in range(one.n_open)]
            left *= 1.0 - EXPLORE
        for chance, draw in [*ends, (left, None)]:
            found = log.judged[log.number(row, draw)]
            robust += chance * found.robust[0] / len(log.plain)
            weight += chance * found.weights[0] / len(log.plain)
    return robust, weight, log.find_truth()


def share_holding(kind):
    """Return how often intervals of the error, by weights alone, hold the truth."""
    log = kind(LOGGER, TARGET, make_population(), BUDGET, EXPLORE)
    truth, n_holding = log.find_truth()[0], 0
    for seed in range(N_REPETITIONS):
        cases = log.draw_cases(N_CASES, np.random.default_rng(seed))
        low, high = estimate_policy(cases).weighted[0].interval
        n_holding += low <= truth <= high
    return n_holding / N_REPETITIONS


def test_estimates_are_the_truth_on_average_to_the_last_digits():
    robust, weight, truth = expect(Log)

    assert weight == pytest.approx(1.0)
    assert robust == pytest.approx(truth)


def test_wrong_propensities_give_another_average():
    robust, weight, truth = expect(WrongLog)

    assert weight > 2.0
    assert abs(robust[0] - truth[0]) > 0.1


def test_intervals_hold_the_truth_as_often_as_they_say():
    assert share_holding(Log) >= 0.87


def test_intervals_by_wrong_propensities_don_t():
    assert share_holding(WrongLog) < 0.5
