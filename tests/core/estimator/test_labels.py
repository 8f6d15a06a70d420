"""Several labels at once: indicators of each class."""

import numpy as np
import pytest

from askless import BudgetedBoostingClassifier
from askless.core.errors import RefusedError
from askless.core.training.baselines import BASELINES
from tests.estimators import refusals_of, smoothed


@pytest.mark.parametrize(
    ("params", "refusal"),
    [
        *(
            ({"algorithm": name}, r"algorithm: must be one of .* several labels")
            for name in ("cascade", *BASELINES)
        ),
        # Nothing is chosen for them.
        (
            {"algorithm": "adaboost_bt_smoothed", "rounds": "auto", "tau": "auto"},
            r"params\.rounds: can be chosen for one class",
        ),
    ],
)
def test_several_labels_at_once_are_for_boosting_only(cancer, params, refusal):
    X, _ = cancer
    model = BudgetedBoostingClassifier(**{"folds": 0} | params)

    with pytest.raises(ValueError, match=refusal):
        model.fit(X, labels_of(X))
    assert not model.__sklearn_tags__().classifier_tags.multi_label


class Sparse:
    """What scikit-learn's users pass as a sparse matrix, as far as it matters here."""

    def __init__(self, array):
        self.array = array

    def toarray(self):
        return self.array


def labels_of(X):
    return np.column_stack((X[:, 0] > 0, X[:, 1] > 0)).astype(int)


@pytest.fixture(scope="module")
def labelled():
    """Rows with two labels each, and an estimator of them."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    return X, smoothed(rounds=5).fit(X, labels_of(X))


@pytest.mark.parametrize("given", [Sparse, lambda y: y == 1])
def test_sparse_or_boolean_indicators_are_taken_as_dense_numbers(labelled, given):
    X, plain = labelled

    model = smoothed(rounds=5).fit(X, given(labels_of(X)))

    assert model.ensemble_ == plain.ensemble_
    assert model.predict(X).tolist() == plain.predict(X).tolist()


def test_multilabel_rows_without_any_weight_are_refused():
    X = np.random.default_rng(0).standard_normal((6, 2))

    with pytest.raises(ValueError, match="at least one non-zero"):
        BudgetedBoostingClassifier().fit(X, labels_of(X), sample_weight=np.zeros(6))


@pytest.mark.parametrize(
    ("factor", "shift", "found"), [(1, 1, 2), (2, 0, 2), (2, -1, -1)]
)
def test_labels_other_than_0_and_1_are_refused(factor, shift, found):
    X = np.array([[1.0, 1], [-1, 1], [1, -1], [-1, -1]])
    y = factor * labels_of(X) + shift

    with pytest.raises(RefusedError) as refused:
        BudgetedBoostingClassifier().fit(X, y)

    rule = "y: must hold 0 and 1 only, for several labels at once"
    assert refusals_of(refused) == [f"{rule}; found {found}"]


@pytest.mark.parametrize(
    ("wrong", "refusal"),
    [
        (np.zeros((40, 3)), r"y: must have the shape \(40, 2\); found \(40, 3\)"),
        (np.zeros(40), r"y: must have the shape \(40, 2\); found \(40,\)"),
        (np.full((40, 2), 2), "y: must hold 0 and 1 only, .*; found 2"),
    ],
)
def test_error_curve_of_labels_wants_their_indicators(labelled, wrong, refusal):
    X, model = labelled

    with pytest.raises(RefusedError, match=refusal):
        model.error_curve(X, wrong, budgets=[None])


def test_curve_takes_sparse_indicators_as_fit_does(labelled):
    X, model = labelled

    sparse = model.error_curve(X, Sparse(labels_of(X)), [None])

    assert sparse == model.error_curve(X, labels_of(X), [None])
