"""Trainings of several classes: folds, the codec, the estimator."""

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, make_multilabel_classification
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from app.documents.checkpoint import rounds_from_json, rounds_to_json
from app.documents.model import model_from_json, model_to_json
from app.documents.state import state_from_json, state_to_json
from askless import BudgetedBoostingClassifier
from core.errors import RefusedError
from core.model.ensemble import N_KNOTS
from core.model.hypotheses import LEAF, Product, Stump, Tree
from core.model.model import Model
from core.model.votes import full_votes
from core.session import machine, simulate
from core.session.state import StopRule
from core.table.folds import make_folds
from tests import strategies
from tests import strategies_classes as made
from tests.classes import LEARNERS, in_alphabet, params_of, plain
from tests.conftest import IS_COMPILED
from tests.sessions import observe
from tests.small import finish, train


@pytest.fixture(autouse=True)
def one_thread():
    """Fits of a few rows: on a busy machine BLAS's threads wait for one another."""
    with threadpool_limits(1, "blas"):
        yield


# Training with folds.


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("algorithm", ["adaboost_bt_smoothed", "adaboost_rs"])
def test_training_of_three_classes_gives_curve_and_calibrations(learner, algorithm):
    dataset = in_alphabet(made.random_dataset(7, 3, n_samples=60))

    model = finish(train(dataset, params_of(learner, algorithm=algorithm), folds=3))

    fitted = dict(model.ensemble.calibrations)
    assert set(fitted) <= {"ordered", "sample"}
    assert {len(one.offsets[0]) for one in fitted.values()} <= {3}
    assert len(model.curve.errors) == len(model.curve.budgets)
    assert model.curve.n_samples == 60
    assert model.curve.errors[-1] < model.curve.errors[0]
    assert sum(model.card["rows_by_class"].values()) == 60


@pytest.mark.parametrize("n_rare", [1, 2])
@pytest.mark.parametrize("policy", ["adaboost_bt", "adaboost_rs"])
def test_rare_class_does_not_break_the_folds(n_rare, policy):
    dataset = made.random_dataset(8, 2, n_samples=40)
    targets = dataset.targets.copy()
    targets[:n_rare] = 2
    dataset = replace(dataset, classes=made.classes_of(3), targets=targets)

    model = finish(train(dataset, params_of(algorithm=policy), folds=5))

    assert np.isfinite(model.curve.errors).all()
    assert np.isfinite(model.curve.errors_calibrated).all()
    walks = simulate.walk(model.ensemble, dataset.values, [None])
    assert np.isfinite(simulate.class_probabilities(model.ensemble, walks)).all()


def test_folds_spread_each_of_three_classes_evenly():
    targets = np.repeat([0, 1, 2], [17, 10, 5])
    dataset = made.make_dataset(np.zeros((32, 1)), targets, 3)

    folds = make_folds(dataset, 5, seed=0)

    counts = np.array([np.bincount(targets[fold], minlength=3) for fold in folds])
    assert (np.ptp(counts, axis=0) <= 1).all()
    assert sorted(np.concatenate(folds).tolist()) == list(range(32))


@pytest.mark.parametrize("seed", range(5))
def test_units_stay_together_and_two_classes_are_left_to_train_on(seed):
    random = np.random.default_rng(seed)
    row_groups = np.unique(random.integers(0, 12, 50), return_inverse=True)[1]
    targets = random.integers(0, 3, 50)
    dataset = made.make_dataset(np.zeros((50, 1)), targets, 3, row_groups=row_groups)

    folds = make_folds(dataset, 4, seed)

    for fold in folds:
        rest = np.setdiff1d(np.arange(50), fold)
        assert not set(row_groups[fold]) & set(row_groups[rest])
        assert np.unique(targets[rest]).size >= 2


def test_training_of_three_classes_by_units_ends():
    dataset = made.random_dataset(9, 3, n_samples=60)
    dataset = replace(dataset, row_groups=np.arange(60) // 4)

    model = finish(train(dataset, params_of("tree"), folds=4))

    assert model.curve.n_samples == 60


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("search", ["lazy", "ucb"])
def test_training_resumed_gives_the_same_model(learner, search):
    dataset = in_alphabet(made.random_dataset(10, 3, n_samples=45))
    params = params_of(learner, rounds=6, search=search, search_size=2)
    training, rounds = train(dataset, params, folds=2), {}
    for _ in range(8):
        progress = next(training)
        rounds.setdefault(progress.part, []).append(progress.added)
    stored = {
        part: rounds_from_json(
            json.loads(json.dumps(rounds_to_json(some))), dataset.catalogue, 3
        )
        for part, some in rounds.items()
    }

    resumed = finish(train(dataset, params, folds=2, done=stored))

    assert resumed == finish(train(dataset, params, folds=2))


def test_training_of_a_multilabel_dataset_is_refused():
    dataset = made.random_dataset(11, 3, n_samples=40, is_multilabel=True)

    with pytest.raises(RefusedError, match="target"):
        finish(train(dataset, params_of(), folds=2))


# Codec.


def through_json(model):
    return model_from_json(json.loads(json.dumps(model_to_json(model))))


@given(st.data())
def test_model_of_anything_survives_the_codec(data):
    ensemble = data.draw(made.ensembles())
    model = Model("m", ensemble, "target")

    assert through_json(model) == model


@given(st.data())
def test_session_goes_on_the_same_after_the_codec(data):
    ensemble = data.draw(made.ensembles())
    values = data.draw(made.tables(ensemble.catalogue, max_rows=1))[0].tolist()
    budget = data.draw(strategies.budgets())
    state = machine.start(ensemble, budget, stop=StopRule(certain=False))
    again = through_json(Model("m", ensemble)).ensemble

    while state.next_feature_idx is not None:
        idx = state.next_feature_idx
        is_gone = math.isnan(values[idx])
        answer = ("unavailable", None) if is_gone else ("value", values[idx])
        raw = json.loads(json.dumps(state_to_json(state, ensemble.catalogue)))
        stored = state_from_json(raw, again.catalogue)
        state = observe(ensemble, state, idx, *answer)
        after = observe(again, stored, idx, *answer)
        assert repr(after) == repr(state)
        assert machine.forecast(again, after) == machine.forecast(ensemble, state)


def tree_document():
    """A model with one tree of three stumps and three classes."""
    one = [Stump(i, 0.5, (1, -1, 1)) for i in range(3)]
    tree = Tree(tuple(one), ((1, 2), (LEAF, LEAF), (LEAF, LEAF)))
    ensemble = replace(plain(), hypotheses=(tree,), alphas=(1.0,))
    return json.loads(json.dumps(model_to_json(Model("m", ensemble))))


def test_whole_tree_is_read():
    assert model_from_json(tree_document()).ensemble.n_outputs == 3


@pytest.mark.parametrize(
    "children",
    [
        [[1, 1], [None, None], [None, None]],
        [[1, 2], [2, None], [None, None]],
        [[1, 2], [0, None], [None, None]],
        [[1, 2], [1, None], [None, None]],
        [[0, 1], [2, None], [None, None]],
        [[2, None], [None, None], [1, None]],
        [[1, 3], [2, None], [None, None]],
        [[1, -1], [2, None], [None, None]],
        [[1, -2], [2, None], [None, None]],
        [[1, None], [None, None], [None, None]],
        [[1, 2], [None, None]],
        [[1, 2], [None, None], [None, None], [None, None]],
        [[1, 2, None], [None, None], [None, None]],
        [[1], [2, None], [None, None]],
        [[1, 2], None, [None, None]],
        [[1.0, 2], [None, None], [None, None]],
        [["1", 2], [None, None], [None, None]],
        [[True, 2], [None, None], [None, None]],
        [],
        None,
        {},
    ],
)
def test_damaged_tree_is_refused(children):
    document = tree_document()
    document["hypotheses"][0]["children"] = children

    with pytest.raises(RefusedError, match="children"):
        model_from_json(document)


@pytest.mark.parametrize(
    "votes",
    [
        [1, -1],
        [1, -1, 1, 1],
        [],
        [1, 0, 1],
        [1, 2, 1],
        [1.0, -1, 1],
        [True, 1, 1],
        None,
    ],
)
def test_votes_of_the_wrong_length_or_size_are_refused(votes):
    document = tree_document()
    document["hypotheses"][0]["stumps"][1]["votes"] = votes

    with pytest.raises(RefusedError, match="votes"):
        model_from_json(document)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("feature", 3),
        ("feature", -1),
        ("feature", 0.5),
        ("cut", None),
        ("cut", "1"),
    ],
)
def test_stump_deep_in_a_tree_is_checked(field, value):
    document = tree_document()
    document["hypotheses"][0]["stumps"][2][field] = value

    with pytest.raises(RefusedError, match=field):
        model_from_json(document)


@pytest.mark.parametrize("kind", ["forest", None, 3])
def test_unknown_kind_of_hypothesis_is_refused(kind):
    document = tree_document()
    document["hypotheses"][0]["kind"] = kind

    with pytest.raises(RefusedError, match="kind"):
        model_from_json(document)


@pytest.mark.parametrize("kind", ["tree", "product"])
def test_hypothesis_without_stumps_is_refused(kind):
    document = tree_document()
    document["hypotheses"][0] |= {"kind": kind, "stumps": [], "children": []}

    with pytest.raises(RefusedError, match="stumps"):
        model_from_json(document)


@pytest.mark.parametrize("n_outputs", [0, 1, 2, 4])
def test_calibrations_that_are_not_one_per_class_are_refused(n_outputs):
    document = tree_document()
    one = {"offsets": [[0] * n_outputs] * N_KNOTS, "slopes": [1] * N_KNOTS}
    document["calibrations"] = {"ordered": one}

    with pytest.raises(RefusedError, match="ordered"):
        model_from_json(document)


@pytest.mark.parametrize(
    "costs", [[[0, 1], [1, 0]], [[0, 1, 1]] * 2, [[0, 1]] * 3, [[0, 1, -1]] * 3, []]
)
def test_error_costs_of_another_shape_are_refused(costs):
    document = tree_document()
    document["error_costs"] = costs

    with pytest.raises(RefusedError):
        model_from_json(document)


def test_stump_tree_and_product_of_one_stump_predict_alike_after_the_codec():
    stump = Stump(0, 0.5, (1, -1, 1))
    ensemble = replace(
        plain(),
        hypotheses=(stump, Tree((stump,), ((LEAF, LEAF),)), Product((stump,))),
    )

    again = through_json(Model("m", ensemble)).ensemble

    votes, _ = full_votes(again, np.array([[1.0, 0, 0], [0, 0, 0]]))
    assert votes.tolist() == [[3.0, -3.0, 3.0], [-3.0, 3.0, -3.0]]


# The estimator.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", SkipTestWarning)
    check = parametrize_with_checks(
        [
            BudgetedBoostingClassifier(rounds=5, learner="tree", leaves=3),
            BudgetedBoostingClassifier(rounds=10, search="ucb", search_size=1),
        ]
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@check
def test_scikit_learn_conventions_hold_for_trees_and_ucb(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("learner", "search"), [("stump", "all"), ("tree", "ucb"), ("product", "lazy")]
)
def test_iris_is_learnt(learner, search):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = BudgetedBoostingClassifier(
        rounds=40, learner=learner, search=search, search_size=2, random_state=0
    )

    model.fit(X[::2], names[::2])

    assert model.score(X[1::2], names[1::2]) > 0.9
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]


def test_chances_of_iris_agree_with_its_predictions():
    X, y = load_iris(return_X_y=True)
    model = BudgetedBoostingClassifier(rounds=30, learner="tree").fit(X, y)

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
    n_rounds = 60 if IS_COMPILED else 4
    X, y = (X, y) if IS_COMPILED else (X[:200], y[:200])
    model = BudgetedBoostingClassifier(
        "adaboost_bt", rounds=n_rounds, learner="tree", label_weights=label_weights
    )

    model.fit(X[::2], y[::2])

    assert model.score(X[1::2], y[1::2]) > (0.85 if IS_COMPILED else 0.3)


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_budget_bounds_what_digits_cost(learner):
    X, y = load_digits(return_X_y=True)
    n_rows = 300 if IS_COMPILED else 60
    X, y = X[:n_rows, ::3], y[:n_rows]
    model = BudgetedBoostingClassifier(rounds=10, learner=learner).fit(X, y)

    curve = model.error_curve(X, y, [0, 3, 10, None])

    assert all(
        spent <= budget
        for spent, budget in zip(curve.max_spends[:3], curve.budgets[:3], strict=True)
    )
    assert curve.errors[0] == pytest.approx(1 - np.bincount(y).max() / n_rows)
    for budget, error in zip([0, 3, 10, None], curve.errors, strict=True):
        predicted = model.predict(X, budget=budget)
        assert error == pytest.approx(np.mean(predicted != y))


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_multilabel_indicators_are_learnt(learner):
    X, y = make_multilabel_classification(
        200, n_features=8, n_classes=4, random_state=0
    )
    model = BudgetedBoostingClassifier(rounds=30, learner=learner).fit(X, y)

    predicted = model.predict(X)

    assert predicted.shape == y.shape
    assert set(np.unique(predicted)) <= {0, 1}
    assert np.mean(predicted == y) > 0.8
    chances = model.predict_proba(X)
    np.testing.assert_array_equal(chances > 0.5, predicted == 1)
    curve = model.error_curve(X, y, [None])
    assert curve.errors[0] == pytest.approx(np.mean(predicted != y))


@pytest.mark.parametrize("column", [0, 1])
def test_multilabel_class_that_all_or_none_belong_to(column):
    X, y = make_multilabel_classification(60, n_features=5, n_classes=3, random_state=0)
    y[:, 1] = column

    predicted = BudgetedBoostingClassifier(rounds=60).fit(X, y).predict(X)

    assert predicted.shape == y.shape


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learner", "forest"),
        ("search", "some"),
        ("label_weights", "even"),
        ("leaves", 1),
        ("factors", 0),
        ("search_size", 0),
        ("rounds", 0),
        ("tau", 2.0),
        ("algorithm", "boost"),
    ],
)
def test_wrong_parameter_is_refused_by_name(name, value):
    X, y = load_iris(return_X_y=True)
    model = BudgetedBoostingClassifier(**{name: value})

    with pytest.raises(ValueError, match=name):
        model.fit(X, y)


def test_weights_of_zero_leave_a_class_out():
    X, y = load_iris(return_X_y=True)
    weights = np.where(y == 2, 0.0, 1.0)

    model = BudgetedBoostingClassifier(rounds=10).fit(X, y, sample_weight=weights)

    chances = model.predict_proba(X)
    assert np.isfinite(chances).all()
    assert set(model.predict(X[y < 2])) <= {0, 1}


def test_new_class_in_a_curve_is_refused():
    X, y = load_iris(return_X_y=True)
    model = BudgetedBoostingClassifier(rounds=3).fit(X, y)

    with pytest.raises(ValueError, match="classes"):
        model.error_curve(X, y + 1, [None])
