"""The estimator: what it predicts, and that it is what sessions and trainings say."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core import pipeline
from askless.core.catalogue.prices import Paid, buy
from askless.core.estimator.conventions import hash_rows
from askless.core.session.probability import decide_label
from askless.core.simulation.simulate import class_probabilities, class_votes, simulate
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import ALGORITHMS
from askless.core.training.params import BoostParams
from tests.estimators import smoothed, without_folds
from tests.small import finish, train


def test_budget_bounds_what_predictions_cost(cancer):
    X, y = cancer
    model = smoothed(costs=[3, 1, 4, 1, 5, 9], rounds=20).fit(X, y)

    curve = model.error_curve(X, y, [0, 1, 5.5, None])

    assert all(
        spent <= budget
        for spent, budget in zip(curve.max_spends[:3], curve.budgets[:3], strict=True)
    )


def test_probability_is_the_logistic_of_twice_the_vote(cancer):
    X, y = cancer
    model = smoothed(rounds=1).fit(X, y)

    positive = model.predict_proba(X)[:, 1]

    alpha = model.ensemble_.alphas[0]
    assert set(positive.round(12)) == set(
        np.round([1 / (1 + np.exp(2 * alpha)), 1 / (1 + np.exp(-2 * alpha))], 12)
    )


def test_nothing_known_gives_the_prior(cancer):
    X, y = cancer
    model = smoothed(rounds=5).fit(X, y)

    assert model.predict_proba(X[:1], budget=0)[0, 1] == pytest.approx(y.mean())


def test_bundle_equals_its_columns_bought_together(cancer):
    X, y = cancer
    groups = [{"members": [0, 1], "price": 2}, {"members": [2], "fee": 1, "name": "g"}]

    model = smoothed(costs={3: 0.5}, groups=groups, rounds=20).fit(X, y)

    catalogue = model.ensemble_.catalogue
    assert catalogue.costs.tolist() == [0, 0, 10**6, 500_000, 10**6, 10**6]
    assert catalogue.fees.tolist() == [2_000_000, 1_000_000]


def test_groups_may_be_billed_by_call(cancer):
    X, y = cancer
    groups = [
        {"members": [0, 1], "price": 2, "billing": "per_call"},
        {"members": [2], "fee": 1, "billing": "per_call"},
    ]

    catalogue = smoothed(groups=groups, rounds=2).fit(X, y).ensemble_.catalogue

    assert catalogue.is_per_call.tolist() == [True, True, True, False, False, False]


def test_numbers_of_numpy_are_taken_as_pythons(cancer):
    given = {"rounds": np.int64(4), "tau": np.float32(0.1), "random_state": 0}
    costs, groups = np.full(6, 0.1, np.float32), [{"members": [0], "fee": 0.2}]
    numpy_groups = [{"members": np.array([0]), "fee": np.float64(0.2)}]

    model = smoothed(costs=costs, groups=numpy_groups, **given)
    model.fit(*cancer)

    plain = smoothed(
        costs=[0.1] * 6, groups=groups, rounds=4, tau=0.1, random_state=0
    ).fit(*cancer)
    assert model.params_ == plain.params_
    assert model.ensemble_ == plain.ensemble_


def test_groups_without_a_name_charge_their_own_fees(cancer):
    groups = [{"fee": 1, "members": [0]}, {"fee": 5, "members": [1]}]
    model = smoothed(costs=[0] * 6, groups=groups, rounds=2)

    catalogue = model.fit(*cancer).ensemble_.catalogue

    assert buy(catalogue, Paid(), [0, 1])[0] == 6_000_000


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1e308, 5e-324])
def test_equal_weights_of_any_size_change_nothing(cancer, weight):
    X, y = cancer
    model = smoothed(rounds=5).fit(X, y)

    weighted = smoothed(rounds=5).fit(X, y, np.full(len(y), weight))

    assert weighted.ensemble_.hypotheses == model.ensemble_.hypotheses
    assert weighted.ensemble_.alphas == pytest.approx(model.ensemble_.alphas)


@pytest.mark.parametrize(("one", "other"), [(1.0, 0.0), (1e308, 1e-320)])
def test_weights_of_zero_or_too_small_beside_others_do_not_count(cancer, one, other):
    X, y = cancer
    weights = np.full(len(y), one)
    weights[::2] = other

    weighted = smoothed(rounds=5).fit(X, y, weights)

    left_out = smoothed(rounds=5).fit(X[1::2], y[1::2])
    assert weighted.ensemble_.hypotheses == left_out.ensemble_.hypotheses
    assert weighted.ensemble_.alphas == pytest.approx(left_out.ensemble_.alphas)


def test_budgets_may_be_an_array(cancer, fitted):
    curve = fitted.error_curve(*cancer, np.array([1, 2.5]))

    assert curve == fitted.error_curve(*cancer, [1, 2.5])


def by_training(model, X, y, **more):
    """The ensemble that `pipeline.train` makes of the estimator's own parameters."""
    classes = model.ensemble_.classes
    dataset = Dataset(
        model.ensemble_.catalogue, classes, X, y, np.full(len(y), 1 / len(y))
    )
    return finish(train(dataset, folds=0, **more))


@pytest.mark.usefixtures("short_panels", "short_pruning")
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {"auto"}))
def test_every_algorithm_is_that_of_a_training(cancer, algorithm):
    # Weights of 1/256 sum to 1 exactly.
    X, y = (given[:256] for given in cancer)
    given = {"rounds": 4, "switch": 0.4, "stages": 2, "detection": 0.9}
    model = without_folds(
        algorithm,
        costs=[0, 1, 2, 3, 1, 0.5],
        cost_floor=0.25,
        false_alarm=0.8,
        random_state=3,
        **given,
    ).fit(X, y)

    expected = BoostParams(
        algorithm, cost_floor=250_000, false_alarm=0.8, seed=model._seed, **given
    )
    assert model.params_.algorithm == algorithm
    assert replace(model.params_, algorithm=algorithm) == expected
    assert model.ensemble_ == by_training(model, X, y, params=expected).ensemble
    streams = hash_rows(X)
    walks = simulate(model.ensemble_, X, [2_000_000], seed=model._seed, streams=streams)
    votes = class_votes(model.ensemble_, walks)[:, 0]
    chances = class_probabilities(model.ensemble_, walks)[:, 0]
    labels = decide_label(model.ensemble_, chances)
    assert model.predict(X, budget=2).tolist() == labels.tolist()
    assert model.predict_proba(X, budget=2).tolist() == chances.tolist()
    curve = model.error_curve(X, y, [2])
    assert curve.errors[0] == pytest.approx(np.mean(labels != y))
    assert curve.vote_errors[0] == pytest.approx(np.mean(votes != y))


@pytest.mark.slow
def test_cascade_predicts_the_most_probable_class(cancer):
    X, y = cancer
    model = without_folds("cascade", detection=0.9, random_state=0).fit(X, y)

    stages = simulate(model.ensemble_, X, [None]).marks[:, 0]

    assert set(stages[stages >= 0]) == {len(model.ensemble_.cascade.stages)}
    chances = model.predict_proba(X)
    assert model.predict(X).tolist() == chances.argmax(axis=1).tolist()
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize(
    ("algorithm", "auto", "rounds"),
    [
        ("adaboost", {"rounds": "auto"}, 9),
        ("hybrid", {"tau": "auto", "switch": "auto", "rounds": 6}, 6),
    ],
)
def test_parameters_are_chosen_as_in_a_training(
    cancer, algorithm, auto, rounds, monkeypatch
):
    X, y = (given[:128] for given in cancer)
    monkeypatch.setattr(pipeline.spec, "AUTO_ROUNDS", 9)
    model = without_folds(algorithm, random_state=1, **auto).fit(X, y)

    names = frozenset(name for name, value in auto.items() if value == "auto")
    params = BoostParams(algorithm, rounds=rounds, seed=model._seed)
    expected = by_training(model, X, y, params=params, auto=names)
    assert model.ensemble_ == expected.ensemble
    assert {name: getattr(model.params_, name) for name in names} == (
        expected.card["chosen"]
    )
    assert model.get_params()["switch"] == auto.get("switch", 0.1)


def test_core_names_nothing_else():
    with pytest.raises(AttributeError):
        _ = pipeline.nothing


@pytest.mark.slow
def test_predictions_of_draws_follow_their_rows_into_another_order(cancer):
    X, y = cancer
    X = X[:60].copy()
    X[0, 0], X[1, 0] = np.nan, -0.0
    classifier = without_folds("adaboost_rs", rounds=20, random_state=0)
    classifier.fit(X, y[:60])
    order = np.random.default_rng(1).permutation(60)

    chances = classifier.predict_proba(X, budget=3)

    np.testing.assert_array_equal(
        classifier.predict_proba(X[order], budget=3), chances[order]
    )


def test_zeros_and_missing_values_of_any_sign_draw_alike():
    one = np.array([0.0, np.nan, 1.0])
    other = np.array([-0.0, -np.nan, 1.0])

    first, second, third = hash_rows(np.array([one, other, one + 1.0]))
    assert first == second != third


def test_fit_reads_numbers_that_mean_missing_and_leaves_its_array_as_it_was(cancer):
    X, y = cancer
    marked = X.copy()
    marked[::3, 1] = -999.0
    before = marked.copy()

    model = smoothed(missing=[-999], rounds=5).fit(marked, y)

    lacking = np.where(marked == -999.0, np.nan, marked)
    expected = smoothed(rounds=5).fit(lacking, y)
    assert model.ensemble_.hypotheses == expected.ensemble_.hypotheses
    assert np.array_equal(marked, before)
