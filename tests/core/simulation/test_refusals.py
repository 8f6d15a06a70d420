"""Rises of the loss where features are refused: those of sessions, one by one."""

import numpy as np
import pyarrow as pa
import pytest

from askless.core.session import machine
from askless.core.session.state import Answer, StopRule
from askless.core.simulation.outcomes import TableRows
from askless.core.simulation.refusals import measure_refusals
from askless.core.table.dataset import Dataset
from tests.estimators import without_folds

BUDGETS = [2_000_000, None]


def make_table():
    """A table whose second column lacks values where the class is 1."""
    random = np.random.default_rng(4)
    y = np.arange(160) % 2
    known = y + random.normal(size=160)
    gaps = np.where((y == 1) & (random.random(160) < 0.7), np.nan, 1.0)
    noise = random.normal(size=160)
    return np.column_stack((known, gaps, noise)), y


def play_refused(ensemble, row, budget, refused):
    state = machine.start(ensemble, budget, stop=StopRule(certain=False))
    while (idx := state.next_feature_idx) is not None:
        answer = Answer(idx, "value", float(row[idx]))
        if np.isnan(row[idx]):
            answer = Answer(idx, "unavailable")
        if idx == refused:
            answer = Answer(idx, "refused")
        state = machine.observe(ensemble, state, [answer])
    return machine.forecast(ensemble, state).probabilities


@pytest.mark.usefixtures("short_panels")
@pytest.mark.parametrize("algorithm", ["auto", "adaboost_bt_smoothed"])
def test_rises_are_those_of_sessions_that_refuse(algorithm):
    X, y = make_table()
    model = without_folds(algorithm, effort="fast", rounds=8, random_state=0).fit(X, y)
    ensemble, rows = model.ensemble_, slice(0, 40)
    values, targets = X[rows], y[rows]
    weights = np.full(40, 1 / 40)
    dataset = Dataset(ensemble.catalogue, ensemble.classes, values, targets, weights)

    def mean_loss(budget, refused):
        chances = [play_refused(ensemble, row, budget, refused) for row in values]
        return -np.log([c[t] for c, t in zip(chances, targets, strict=True)]).mean()

    for budget in BUDGETS:
        given = TableRows(values, range(40), 0)
        rises = measure_refusals(ensemble, dataset, given, budget)
        before = mean_loss(budget, None)
        expected = [mean_loss(budget, idx) - before for idx in range(3)]
        np.testing.assert_allclose(rises, expected, rtol=0, atol=1e-9)
        assert rises[0] > 0


def test_what_nothing_asks_for_rises_nothing():
    X, y = make_table()
    model = without_folds("adaboost_bt_smoothed", rounds=4).fit(X, y)
    dataset = Dataset(
        model.ensemble_.catalogue,
        model.ensemble_.classes,
        X,
        y,
        np.full(len(y), 1 / len(y)),
    )

    rises = measure_refusals(
        model.ensemble_, dataset, TableRows(X, range(len(y)), 0), budget=0
    )

    assert rises.tolist() == [0, 0, 0]


def test_rows_of_several_labels_have_a_loss():
    X, y = make_table()
    both = np.column_stack((y, X[:, 0] > 0.5)).astype(int)

    model = without_folds("adaboost", rounds=4).fit(pa.table({"a": X[:, 0]}), both)

    assert model.feature_importances_.tolist() == [1.0]
