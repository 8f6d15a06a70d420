"""Importances of features, and scikit-learn's selection by them."""

import numpy as np
import pytest
from sklearn.feature_selection import RFE, SelectFromModel

from askless.core.errors import RefusedError
from askless.core.estimator import classifier
from tests.estimators import smoothed


def test_importances_sum_to_one_and_name_what_matters():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    y = (X[:, 1] + 0.2 * X[:, 2] > 0).astype(int)

    model = smoothed(rounds=10).fit(X, y)

    assert model.feature_importances_.shape == (3,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_.argmax() == 1
    assert (model.feature_importances_ >= 0).all()


def test_what_the_budget_never_pays_has_no_importance(cancer):
    model = smoothed(costs=[1, 9, 9, 9, 9, 9], rounds=9, budget=1).fit(*cancer)

    assert model.feature_importances_.tolist() == [1, 0, 0, 0, 0, 0]


def test_without_any_purchase_all_importances_are_zero(cancer):
    model = smoothed(rounds=3, budget=0).fit(*cancer)

    assert model.feature_importances_.tolist() == [0] * 6


def test_rows_beyond_the_limit_are_drawn_by_the_seed(cancer, monkeypatch):
    monkeypatch.setattr(classifier, "MOST_ROWS", 100)

    one, other = (smoothed(rounds=3, random_state=1).fit(*cancer) for _ in range(2))

    assert (one.feature_importances_ == other.feature_importances_).all()


def test_budget_of_a_model_is_refused_at_fit(cancer):
    with pytest.raises(RefusedError, match="budget: must be"):
        smoothed(rounds=2, budget=-1).fit(*cancer)


def test_select_from_model_keeps_what_matters(cancer):
    X, y = cancer
    prices = [1, 2, 3, 4, 5, 6]

    chosen = SelectFromModel(smoothed(rounds=9, costs=prices), max_features=2).fit(X, y)

    kept = np.flatnonzero(chosen.get_support())
    importances_ = chosen.estimator_.feature_importances_
    assert set(kept) <= set(np.argsort(importances_)[-2:])
    assert chosen.transform(X).shape == (len(X), kept.size)


def test_recursive_elimination_ends_with_so_many_features(cancer):
    X, y = cancer

    chosen = RFE(smoothed(rounds=3), n_features_to_select=2).fit(X, y)

    assert chosen.support_.sum() == 2
    assert sorted(chosen.ranking_) == [1, 1, 2, 3, 4, 5]


def test_recursive_elimination_refuses_a_list_of_costs(cancer):
    with pytest.raises(RefusedError, match="one for each of 5 features"):
        RFE(smoothed(rounds=3, costs=[1] * 6), n_features_to_select=2).fit(*cancer)
