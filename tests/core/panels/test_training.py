"""Trainings and the estimator, of models that have panels."""

from dataclasses import replace

import numpy as np
import pytest

from askless.app.documents.spec.spec import read_spec
from askless.core.catalogue.prices import Paid, buy
from askless.core.errors import RefusedError
from askless.core.estimator.classifier import BudgetedBoostingClassifier
from askless.core.panels.ladders import fit_ladder, ladder_bytes
from askless.core.pipeline.check import check_training
from askless.core.selection.params import SelectionParams
from askless.core.training.params import BoostParams
from tests.panels import shorten
from tests.small import finish, pull, table_of, train

PARAMS = BoostParams("panels", rounds=2, seed=3)


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    shorten(monkeypatch, rounds=1)


def telling(n_rows: int = 24):
    """A feature that tells the class in most rows, and one that tells nothing."""
    random = np.random.default_rng(0)
    targets = (np.arange(n_rows) % 5 < 2).astype(np.int64)
    likely = np.where(random.random(n_rows) < 0.9, targets, 1 - targets)
    return table_of([random.integers(0, 2, n_rows), likely], targets)


def useless():
    """Two features of one value."""
    return table_of([[7.0] * 20, [1.0] * 20])


def test_training_fits_the_ladder_of_its_seed():
    model = finish(train(telling(), PARAMS, folds=0))

    assert model.ensemble.policy == "panels"
    ladder = finish(fit_ladder(telling(), 3))
    # Out of force, own questions ask what panels read.
    asked = replace(ladder.worth, feature_idxs=model.ensemble.panels.worth.feature_idxs)
    assert model.ensemble.panels == replace(ladder, worth=asked)


def test_hypotheses_beside_panels_are_those_of_the_smoothed_rule():
    smoothed = replace(PARAMS, algorithm="adaboost_bt_smoothed")

    one, other = (
        finish(train(telling(), params, folds=0)) for params in (PARAMS, smoothed)
    )

    assert one.ensemble.hypotheses == other.ensemble.hypotheses
    assert other.ensemble.panels is None


@pytest.fixture(scope="module")
def model():
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch, rounds=1)
        return finish(train(telling(60), PARAMS, folds=2))


@pytest.mark.slow
def test_curve_has_the_prices_of_panels_for_budgets(model):
    panels = model.ensemble.panels.panels
    prices = {buy(model.ensemble.catalogue, Paid(), p.feature_idxs)[0] for p in panels}
    assert set(model.curve.budgets) == {*prices, None}


@pytest.mark.slow
def test_card_tells_what_mean_budgets_come_to_on_rows_not_trained_on(model):
    points = model.card["mean_budgets"]
    most = model.ensemble.panels.stopping.rules[-1].spend / 1e6
    asked = [point["mean_budget"] for point in points]
    assert asked == sorted(set(asked))
    assert asked[-1] == pytest.approx(most, abs=1e-6)
    assert all(
        0 <= point["error"] <= 1 and point["mean_spend"] >= 0 for point in points
    )
    # One feature tells the class in nine of ten rows.
    assert points[-1]["error"] < 0.3


@pytest.mark.parametrize("table", [useless, telling])
def test_card_tells_no_mean_budgets_without_folds_or_anything_to_buy(table):
    folds = 2 if table is useless else 0

    model = finish(train(table(), PARAMS, folds=folds))

    assert "mean_budgets" not in model.card


def test_card_of_a_model_that_takes_no_aims_tells_no_mean_budgets():
    params = replace(PARAMS, algorithm="adaboost_bt")

    assert "mean_budgets" not in finish(train(telling(), params, folds=2)).card


QUICK = SelectionParams(rounds=2, n_neighbours=3)


@pytest.mark.slow
def test_training_that_goes_on_selects_anew_for_the_panels_of_its_folds():
    progress, model = pull(train(telling(), PARAMS, folds=2, selection=QUICK))
    done = {}
    for share in progress:
        if share.added is not None:
            done.setdefault(share.part, []).append(share.added)

    resumed = finish(train(telling(), PARAMS, folds=2, selection=QUICK, done=done))

    assert resumed == model


@pytest.mark.slow
def test_estimator_predicts_by_the_panels_that_a_budget_pays():
    dataset = telling()
    estimator = BudgetedBoostingClassifier("panels", rounds=2, folds=0, random_state=0)
    estimator.fit(dataset.values, dataset.targets)

    for budget in (0, 1, None):
        chances = estimator.predict_proba(dataset.values, budget)
        named = estimator.predict(dataset.values, budget)
        assert (named == chances.argmax(axis=1)).all()
        assert len(np.unique(chances, axis=0)) == (1 if budget == 0 else 2)


def test_panels_that_do_not_fit_the_memory_are_refused():
    columns = {"x": np.arange(90.0), "y": np.array(["a", "b"] * 45, object)}
    spec = read_spec({"target": "y", "costs": {"x": 1}, "algorithm": "panels"})
    needed = ladder_bytes(90, 1)
    other = replace(spec, boost=BoostParams())

    with pytest.raises(RefusedError, match="table: training must fit the memory"):
        check_training(columns, spec, needed - 1)

    assert check_training(columns, spec, needed).dataset.n_samples == 90
    assert check_training(columns, other, needed - 1).dataset.n_samples == 90
