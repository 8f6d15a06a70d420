import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import core
from core import BudgetedBoostingClassifier


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :6], y


with warnings.catch_warnings():
    warnings.simplefilter("ignore", SkipTestWarning)
    check = parametrize_with_checks(
        [
            BudgetedBoostingClassifier(rounds=10),
            BudgetedBoostingClassifier("adaboost_rs", rounds=10, random_state=0),
        ]
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@check
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)


def test_budget_bounds_what_predictions_cost(cancer):
    X, y = cancer
    model = BudgetedBoostingClassifier(costs=[3, 1, 4, 1, 5, 9], rounds=20).fit(X, y)

    curve = model.error_curve(X, y, [0, 1, 5.5, None])

    assert all(
        spent <= budget
        for spent, budget in zip(curve.max_spends[:3], curve.budgets[:3], strict=True)
    )


def test_curve_agrees_with_predict(cancer):
    X, y = cancer
    model = BudgetedBoostingClassifier(rounds=20).fit(X, y)

    curve = model.error_curve(X, y, [2])

    assert curve.errors[0] == pytest.approx(np.mean(model.predict(X, budget=2) != y))


def test_probability_is_the_logistic_of_twice_the_vote(cancer):
    X, y = cancer
    model = BudgetedBoostingClassifier(rounds=1).fit(X, y)

    positive = model.predict_proba(X)[:, 1]

    alpha = model.ensemble_.alphas[0]
    assert set(positive.round(12)) == set(
        np.round([1 / (1 + np.exp(2 * alpha)), 1 / (1 + np.exp(-2 * alpha))], 12)
    )


def test_nothing_known_gives_the_prior(cancer):
    X, y = cancer
    model = BudgetedBoostingClassifier(rounds=5).fit(X, y)

    assert model.predict_proba(X[:1], budget=0)[0, 1] == pytest.approx(y.mean())


def test_bundle_equals_its_columns_bought_together(cancer):
    X, y = cancer
    groups = [{"members": [0, 1], "price": 2}, {"members": [2], "fee": 1, "name": "g"}]

    model = BudgetedBoostingClassifier(costs={3: 0.5}, groups=groups, rounds=20).fit(
        X, y
    )

    catalogue = model.ensemble_.catalogue
    assert catalogue.costs.tolist() == [0, 0, 10**6, 500_000, 10**6, 10**6]
    assert catalogue.fees.tolist() == [2_000_000, 1_000_000]


def test_weight_zero_rows_do_not_count(cancer):
    X, y = cancer
    weights = np.ones(len(y))
    weights[::2] = 0

    weighted = BudgetedBoostingClassifier(rounds=5).fit(X, y, weights)
    left_out = BudgetedBoostingClassifier(rounds=5).fit(X[1::2], y[1::2])

    assert weighted.ensemble_.hypotheses == left_out.ensemble_.hypotheses


def test_weights_that_leave_one_class_are_refused(cancer):
    X, y = cancer

    with pytest.raises(ValueError, match="Two classes need rows"):
        BudgetedBoostingClassifier().fit(X, y, (y == 1).astype(float))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"algorithm": "magic"}, "algorithm must be one of"),
        ({"learner": "forest"}, "learner"),
        ({"search": "some"}, "search"),
        ({"rounds": 0}, "rounds"),
        ({"tau": 2}, "tau"),
        ({"costs": [1, 2]}, "one for each"),
        ({"costs": {"zz": 1}}, "no feature 'zz'"),
        ({"costs": {99: 1}}, "no feature 99"),
        ({"costs": [1, 1, 1, 1, 1, -1]}, "must be a number"),
        ({"groups": [{"members": [0]}]}, "fee or a price"),
        ({"groups": [{"members": [0], "fee": 1, "price": 1}]}, "fee or a price"),
        (
            {"groups": [{"members": [0], "fee": 1}, {"members": [0], "fee": 1}]},
            "two groups",
        ),
        (
            {"groups": [{"members": [0], "price": 1}], "costs": {0: 1}},
            "no cost of its own",
        ),
    ],
)
def test_wrong_parameter_is_refused(cancer, params, words):
    X, y = cancer

    with pytest.raises(ValueError, match=words):
        BudgetedBoostingClassifier(**params).fit(X, y)


def test_unknown_class_in_a_curve_is_refused(cancer):
    X, y = cancer
    model = BudgetedBoostingClassifier(rounds=2).fit(X, y)

    with pytest.raises(ValueError, match="only the classes"):
        model.error_curve(X, y + 5, [1])


def test_unfitted_estimator_says_so(cancer):
    with pytest.raises(NotFittedError):
        BudgetedBoostingClassifier().predict(cancer[0])


def test_names_give_costs_to_columns():
    model = BudgetedBoostingClassifier(costs={"b": 3})
    model.n_features_in_ = 2
    model.feature_names_in_ = np.array(["a", "b"], dtype=object)

    assert model._catalogue().costs.tolist() == [1_000_000, 3_000_000]


def test_core_names_nothing_else():
    with pytest.raises(AttributeError):
        _ = core.nothing


class Sparse:
    """What scikit-learn's users pass as a sparse matrix, as far as it matters here."""

    def __init__(self, array):
        self.array = array

    def toarray(self):
        return self.array


def labels_of(X):
    return np.column_stack((X[:, 0] > 0, X[:, 1] > 0)).astype(int)


def test_sparse_indicators_are_taken_as_dense_ones():
    X = np.random.default_rng(0).standard_normal((40, 3))
    dense = BudgetedBoostingClassifier(rounds=5).fit(X, labels_of(X))

    sparse = BudgetedBoostingClassifier(rounds=5).fit(X, Sparse(labels_of(X)))

    assert sparse.ensemble_ == dense.ensemble_


def test_multilabel_rows_without_any_weight_are_refused():
    X = np.random.default_rng(0).standard_normal((6, 2))

    with pytest.raises(ValueError, match="at least one non-zero"):
        BudgetedBoostingClassifier().fit(X, labels_of(X), sample_weight=np.zeros(6))


@pytest.mark.parametrize(
    "wrong", [np.zeros((40, 3)), np.full((40, 2), 2), np.zeros(40)]
)
def test_error_curve_of_labels_wants_their_indicators(wrong):
    X = np.random.default_rng(0).standard_normal((40, 3))
    model = BudgetedBoostingClassifier(rounds=5).fit(X, labels_of(X))

    with pytest.raises(ValueError, match=r"have the shape \(40, 2\)"):
        model.error_curve(X, wrong, budgets=[None])
