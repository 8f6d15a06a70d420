"""Trainings of several classes: folds, the codec, the estimator."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, make_multilabel_classification

from askless import BudgetedBoostingClassifier
from askless.core.codes.folds import deal_strata
from askless.core.errors import RefusedError
from askless.core.simulation import simulate
from tests.classes import LEARNERS, in_alphabet, params_of
from tests.small import classes_of, finish, make_dataset, random_dataset, train

# Training with folds.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "algorithm"),
    [
        ("stump", "adaboost_bt_smoothed"),
        ("tree", "adaboost_rs"),
        ("product", "adaboost_bt_smoothed"),
    ],
)
def test_training_of_three_classes_gives_curve_and_calibrations(learner, algorithm):
    dataset = in_alphabet(random_dataset(7, 3, n_samples=60))

    model = finish(train(dataset, params_of(learner, algorithm=algorithm), folds=3))

    fitted = dict(model.ensemble.calibrations)
    assert set(fitted) <= {"ordered", "sample"}
    assert {len(one.offsets[0]) for one in fitted.values()} <= {3}
    assert len(model.curve.errors) == len(model.curve.budgets)
    assert model.curve.n_samples == 60
    assert model.curve.errors[-1] < model.curve.errors[0]
    assert sum(model.card["rows_by_class"].values()) == 60


@pytest.mark.slow
@pytest.mark.parametrize(("n_rare", "policy"), [(1, "adaboost_rs"), (2, "adaboost_bt")])
def test_rare_class_does_not_break_the_folds(n_rare, policy):
    dataset = random_dataset(8, 2, n_samples=40)
    targets = dataset.targets.copy()
    targets[:n_rare] = 2
    dataset = replace(dataset, classes=classes_of(3), targets=targets)

    model = finish(train(dataset, params_of(algorithm=policy), folds=5))

    assert np.isfinite(model.curve.errors).all()
    assert np.isfinite(model.curve.errors_calibrated).all()
    walks = simulate.simulate(model.ensemble, dataset.values, [None])
    assert np.isfinite(simulate.class_probabilities(model.ensemble, walks)).all()


def test_folds_spread_each_of_three_classes_evenly():
    targets = np.repeat([0, 1, 2], [17, 10, 5])
    dataset = make_dataset(np.zeros((32, 1)), targets, 3)

    folds = deal_strata(dataset, 5, seed=0)

    counts = np.array([np.bincount(targets[fold], minlength=3) for fold in folds])
    assert (np.ptp(counts, axis=0) <= 1).all()
    assert sorted(np.concatenate(folds).tolist()) == list(range(32))


@pytest.mark.parametrize("seed", range(5))
def test_units_stay_together_and_two_classes_are_left_to_train_on(seed):
    random = np.random.default_rng(seed)
    row_groups = np.unique(random.integers(0, 12, 50), return_inverse=True)[1]
    targets = random.integers(0, 3, 50)
    dataset = make_dataset(np.zeros((50, 1)), targets, 3, row_groups=row_groups)

    folds = deal_strata(dataset, 4, seed)

    for fold in folds:
        rest = np.setdiff1d(np.arange(50), fold)
        assert not set(row_groups[fold]) & set(row_groups[rest])
        assert np.unique(targets[rest]).size >= 2


def test_training_of_a_multilabel_dataset_is_refused():
    dataset = random_dataset(11, 3, n_samples=40, is_multilabel=True)

    with pytest.raises(RefusedError, match="target"):
        finish(train(dataset, params_of(), folds=2))


# The estimator.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "search"), [("stump", "all"), ("tree", "ucb"), ("product", "lazy")]
)
def test_iris_is_learnt(learner, search):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = BudgetedBoostingClassifier(
        "adaboost_bt_smoothed",
        folds=0,
        rounds=40,
        learner=learner,
        search=search,
        search_size=2,
        random_state=0,
    )

    model.fit(X[::2], names[::2])

    assert model.score(X[1::2], names[1::2]) > 0.9
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]


@pytest.mark.slow
def test_chances_of_iris_agree_with_its_predictions():
    X, y = load_iris(return_X_y=True)
    model = BudgetedBoostingClassifier(
        "adaboost_bt_smoothed", folds=0, rounds=30, learner="tree"
    ).fit(X, y)

    for budget in (None, 0, 1, 2):
        chances = model.predict_proba(X, budget=budget)
        predicted = model.predict(X, budget=budget)
        np.testing.assert_allclose(chances.sum(axis=1), 1)
        np.testing.assert_array_equal(
            chances[np.arange(len(X)), predicted], chances.max(axis=1)
        )


@pytest.mark.slow
@pytest.mark.parametrize("label_weights", ["balanced", "uniform"])
def test_digits_are_learnt(label_weights):
    X, y = load_digits(return_X_y=True)
    model = BudgetedBoostingClassifier(
        "adaboost_bt", folds=0, rounds=30, learner="tree", label_weights=label_weights
    )

    model.fit(X[::4], y[::4])

    assert model.score(X[1::2], y[1::2]) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_budget_bounds_what_digits_cost(learner):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300, ::3], y[:300]
    model = BudgetedBoostingClassifier(
        "adaboost_bt_smoothed", folds=0, rounds=10, learner=learner
    ).fit(X, y)

    curve = model.error_curve(X, y, [0, 3, 10, None])

    assert all(
        spent <= budget
        for spent, budget in zip(curve.max_spends[:3], curve.budgets[:3], strict=True)
    )
    assert curve.errors[0] == pytest.approx(1 - np.bincount(y).max() / 300)
    for budget, error in zip([0, 3, 10, None], curve.errors, strict=True):
        predicted = model.predict(X, budget=budget)
        assert error == pytest.approx(np.mean(predicted != y))


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_multilabel_indicators_are_learnt(learner):
    X, y = make_multilabel_classification(
        200, n_features=8, n_classes=4, random_state=0
    )
    model = BudgetedBoostingClassifier(
        "adaboost_bt_smoothed", folds=0, rounds=30, learner=learner
    ).fit(X, y)

    predicted = model.predict(X)

    assert predicted.shape == y.shape
    assert set(np.unique(predicted)) <= {0, 1}
    assert np.mean(predicted == y) > 0.8
    chances = model.predict_proba(X)
    np.testing.assert_array_equal(chances > 0.5, predicted == 1)
    curve = model.error_curve(X, y, [None])
    assert curve.errors[0] == pytest.approx(np.mean(predicted != y))


@pytest.mark.slow
@pytest.mark.parametrize("column", [0, 1])
def test_multilabel_class_that_all_or_none_belong_to(column):
    X, y = make_multilabel_classification(60, n_features=5, n_classes=3, random_state=0)
    y[:, 1] = column

    predicted = (
        BudgetedBoostingClassifier("adaboost_bt_smoothed", folds=0, rounds=60)
        .fit(X, y)
        .predict(X)
    )

    assert predicted.shape == y.shape


def test_weights_of_zero_leave_a_class_out():
    X, y = load_iris(return_X_y=True)
    weights = np.where(y == 2, 0.0, 1.0)

    model = BudgetedBoostingClassifier("adaboost_bt_smoothed", folds=0, rounds=10).fit(
        X, y, sample_weight=weights
    )

    chances = model.predict_proba(X)
    assert np.isfinite(chances).all()
    assert set(model.predict(X[y < 2])) <= {0, 1}
