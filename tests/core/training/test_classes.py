"""Several classes from training to forecast, through the codec and scikit-learn."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless import BudgetedBoostingClassifier
from askless.core.codes.binning import bin_values
from askless.core.model.ensemble import Calibration
from askless.core.model.votes import full_votes, raw_classes
from askless.core.session import machine
from askless.core.session.machine import make_forecast
from askless.core.session.policies import POLICIES
from askless.core.session.probability import decide_label
from askless.core.session.rows.walks import Standing
from askless.core.simulation import curves, simulate
from askless.core.training.algorithms import make_ensemble
from askless.core.training.boosting import boost, initial_weights
from tests import naive_sessions, strategies, twins
from tests.classes import LEARNERS, in_alphabet, params_of, plain
from tests.conftest import IS_COMPILED
from tests.documents import through_json
from tests.rounds import run
from tests.sessions import observe
from tests.small import classes_of, finish, make_dataset, random_dataset, train


def fit(dataset, params):
    return make_ensemble(dataset, params, run(dataset, params))


# Two classes and several.


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_two_classes_in_two_outputs_give_the_rounds_of_one(learner):
    dataset = random_dataset(1, 2)
    one, binned = initial_weights(dataset), bin_values(dataset)
    both = np.hstack((-one, one)) / 2

    binary, double = (
        list(boost([(binned, weights)], dataset.catalogue, params_of(learner)))
        for weights in (one, both)
    )

    assert len(binary) == len(double)
    for first, second in zip(binary, double, strict=True):
        assert second.edge == pytest.approx(first.edge, abs=1e-9)
        assert second.hypothesis.feature_idxs == first.hypothesis.feature_idxs
        stumps = [
            getattr(h.hypothesis, "stumps", (h.hypothesis,)) for h in (first, second)
        ]
        for a, b in zip(*stumps, strict=True):
            assert (a.cut, a.votes[0]) == (b.cut, b.votes[1])


def test_two_classes_as_labels_of_both_predict_as_two_classes():
    dataset = random_dataset(2, 2, n_samples=60)
    both = replace(dataset, targets=np.eye(2, dtype=np.int64)[dataset.targets])

    one, two = fit(dataset, params_of()), fit(both, params_of())

    margins = [
        simulate.simulate(ensemble, dataset.values, [None]).margins[:, 0, -1]
        for ensemble in (one, two)
    ]
    np.testing.assert_allclose(*margins, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_order_of_the_classes_changes_nothing(learner):
    dataset = random_dataset(4, 3)
    order = np.array([2, 0, 1])

    plain = run(dataset, params_of(learner))
    moved = run(replace(dataset, targets=order[dataset.targets]), params_of(learner))

    for first, second in zip(plain, moved, strict=True):
        assert second.edge == pytest.approx(first.edge, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_class_without_rows_trains_and_predicts(learner):
    dataset = in_alphabet(random_dataset(5, 2, n_samples=40))
    dataset = replace(dataset, classes=classes_of(3), targets=dataset.targets * 2)

    model = finish(train(dataset, params_of(learner), folds=3))

    walks = simulate.simulate(model.ensemble, dataset.values, [0, 1_000_000, None])
    chances = simulate.class_probabilities(model.ensemble, walks)
    assert model.ensemble.priors[1] == 0
    assert np.isfinite(chances).all()
    np.testing.assert_allclose(chances.sum(axis=-1), 1)
    assert np.isfinite(model.curve.errors).all()
    assert through_json(model) == model


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_one_row_per_class_trains(learner):
    values = np.random.default_rng(0).normal(size=(7, 3))
    dataset = make_dataset(values, np.arange(7), 7)

    ensemble = fit(dataset, params_of(learner, rounds=60))

    votes, _ = full_votes(ensemble, values)
    assert np.isfinite(votes).all()
    assert raw_classes(ensemble, votes).tolist() == list(range(7))


def test_one_row_per_class_gets_a_model_without_folds():
    values = np.random.default_rng(0).normal(size=(5, 3))
    dataset = make_dataset(values, np.arange(5), 5)

    model = finish(train(dataset, params_of()))

    assert model.curve is None
    assert model.ensemble.calibrations == ()


@pytest.mark.slow
def test_a_thousand_classes_on_a_few_hundred_rows():
    n_classes = 1000
    random = np.random.default_rng(1)
    values = random.normal(size=(300, 4))
    targets = random.integers(0, n_classes, 300)
    dataset = make_dataset(values, targets, n_classes)

    ensemble = fit(dataset, params_of("tree", rounds=3))

    walks = simulate.simulate(ensemble, values[:20], [0, None])
    chances = simulate.class_probabilities(ensemble, walks)
    np.testing.assert_allclose(chances.sum(axis=-1), 1)
    state = machine.start(ensemble, None)
    state = observe(ensemble, state, state.next_feature_idx, "value", 0.0)
    assert len(machine.forecast(ensemble, state).probabilities) == n_classes


@pytest.mark.slow
def test_ten_thousand_features():
    n_features = 10_000
    random = np.random.default_rng(2)
    values = random.normal(size=(40, n_features))
    targets = (values[:, 77] > 0).astype(int) + (values[:, 77] > 1)
    dataset = make_dataset(values, targets, 3)

    ensemble = fit(dataset, params_of(rounds=4))

    assert len(ensemble.hypotheses) == 4
    assert ensemble.hypotheses[0].feature_idx == 77
    state = machine.start(ensemble, None)
    assert state.next_feature_idx == ensemble.hypotheses[0].feature_idx


def test_no_nan_where_weights_underflow():
    # One wrong row among few: the right ones' weights fall below every double.
    values = np.array([[0.0], [0.0], [1.0], [1.0]])
    dataset = make_dataset(
        values, np.array([0, 1, 2, 2]), 3, np.array([1.0, 1.0, 1.0, 1e-300])
    )

    rounds = run(dataset, params_of(rounds=3000 if IS_COMPILED else 200))

    assert np.isfinite([(round.edge, round.alpha, round.z) for round in rounds]).all()


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_errors_are_those_of_the_naive_votes(learner):
    dataset = random_dataset(6, 4, n_samples=50)
    ensemble = fit(dataset, params_of(learner))
    budgets = [0, 1_000_000, 2_500_000, None]
    shop = twins.shop_of(dataset.catalogue)

    curve = curves.evaluate(ensemble, dataset, budgets)

    for position, budget in enumerate(budgets):
        wrong, spent = 0.0, 0.0
        for row, target, weight in zip(
            twins.rows_of(dataset.values),
            dataset.targets.tolist(),
            dataset.weights.tolist(),
            strict=True,
        ):
            end = naive_sessions.walk_ordered(
                twins.all_to_naive(ensemble), ensemble.alphas, shop, row, budget, 4
            )
            best = naive_sessions.best_classes(end.votes, 1e-9)
            said = max(best, key=lambda c: (ensemble.priors[c], c))
            wrong += weight * (said != target)
            spent += weight * end.spent
        assert curve.errors[position] == pytest.approx(wrong)
        assert curve.mean_spends[position] == pytest.approx(spent)


def test_multilabel_error_is_the_hamming_loss():
    dataset = random_dataset(3, 3, is_multilabel=True)
    ensemble = fit(dataset, params_of())

    curve = curves.evaluate(ensemble, dataset, [None])

    votes, _ = full_votes(ensemble, dataset.values)
    is_wrong = (votes > 0) != (dataset.targets == 1)
    assert curve.errors[0] == pytest.approx(dataset.weights @ is_wrong.mean(axis=1))


@given(st.data())
def test_chances_are_a_distribution(data):
    ensemble = data.draw(strategies.ensembles())
    values = data.draw(strategies.tables(ensemble.catalogue))
    budgets = data.draw(st.lists(strategies.budgets(), min_size=1, max_size=3))

    walks = simulate.simulate(ensemble, values, budgets)

    chances = simulate.class_probabilities(ensemble, walks)
    assert chances.shape[-1] == len(ensemble.classes)
    assert ((chances >= 0) & (chances <= 1)).all()
    np.testing.assert_allclose(chances.sum(axis=-1), 1)


def forecast_of(ensemble, scores, share):
    scores = np.array(scores)
    standing = Standing(scores, np.array(share), scores, np.array(0))
    return make_forecast(ensemble, POLICIES["ordered"], standing)


@pytest.mark.parametrize(
    ("priors", "first"),
    [
        ((0.5, 0.3, 0.2), 0),
        ((0.2, 0.3, 0.5), 2),
        ((0.3, 0.4, 0.3), 1),
        ((1 / 3, 1 / 3, 1 / 3), 2),
        ((0.4, 0.4, 0.2), 1),
    ],
)
def test_tie_goes_to_the_class_of_larger_prior_then_of_higher_position(priors, first):
    ensemble = plain(priors=priors)

    forecast = forecast_of(ensemble, np.zeros(3), 0.5)
    rounding = forecast_of(ensemble, [3e-14, 0.0, -2e-14], 0.5)

    assert (forecast.vote, forecast.label) == (first, first)
    assert forecast.probabilities == priors
    assert (rounding.vote, rounding.label) == (first, first)


@pytest.mark.parametrize(
    ("margins", "vote"),
    [((0.5, 0.5, 0.1), 1), ((0.5, 0.1, 0.5), 0), ((0.1, 0.5, 0.5), 1)],
)
def test_tie_of_two_of_three_goes_to_the_larger_prior_among_them(margins, vote):
    ensemble = plain(priors=(0.34, 0.36, 0.3))

    forecast = forecast_of(ensemble, margins, 0.5)

    assert (forecast.vote, forecast.label) == (vote, vote)


def test_margin_is_half_the_lead():
    forecast = forecast_of(plain(), [0.5, -1.0, 0.25], 1.0)

    assert forecast.margin == pytest.approx(0.125)


@given(st.data(), st.integers(2, 4))
def test_label_has_the_least_expected_cost(data, n_classes):
    cost_rows = st.tuples(*[st.integers(0, 9).map(float)] * n_classes)
    costs = data.draw(st.tuples(*[cost_rows] * n_classes))
    parts = data.draw(st.tuples(*[st.integers(1, 9)] * n_classes))
    chances = np.array(parts) / sum(parts)
    ensemble = plain(n_classes, error_costs=costs)

    label = int(decide_label(ensemble, chances))

    expected = [
        sum(chances[true] * costs[true][said] for true in range(n_classes))
        for said in range(n_classes)
    ]
    assert expected[label] == pytest.approx(min(expected), abs=1e-9)


def test_calibrations_are_applied_output_by_output():
    # The share 0.4 lies 0.6 of the way from the second knot to the third.
    offsets = ((9.0,) * 3, (-1.0, -0.5, 0.0), (0.5, 0.0, 1.0), (9.0,) * 3, (9.0,) * 3)
    fitted = Calibration(offsets, (9.0, 1.5, 2.0, 9.0, 9.0))
    ensemble = plain(calibrations=(("ordered", fitted),))
    scores, share = [0.3, -0.2, 0.1], 0.4

    forecast = forecast_of(ensemble, scores, share)

    weights = [
        math.exp(0.4 * before + 0.6 * after + (0.4 * 1.5 + 0.6 * 2.0) * score)
        for before, after, score in zip(offsets[1], offsets[2], scores, strict=True)
    ]
    np.testing.assert_allclose(forecast.probabilities, np.array(weights) / sum(weights))


@pytest.mark.parametrize("scores", [(30.0, 90.0, -5.0), (-60.0, -90.0, -30.0)])
def test_label_without_calibration_is_the_vote_however_large_the_votes(scores):
    ensemble = replace(plain(priors=(0.5, 0.2, 0.3)), alphas=(30.0, 30.0, 30.0))

    forecast = forecast_of(ensemble, scores, 1.0)

    assert forecast.vote == int(np.argmax(scores))
    assert forecast.label == forecast.vote


def test_more_votes_never_lower_the_chance_of_a_class():
    ensemble = plain()
    chances = [
        forecast_of(ensemble, [m, 0.1, -0.3], 1.0).probabilities[0]
        for m in np.linspace(-1, 1, 21)
    ]

    assert chances == sorted(chances)


def test_multilabel_with_nothing_known_goes_by_the_priors():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 2))
    y = np.column_stack((random.random(80) < 0.9, random.random(80) < 0.1)).astype(int)
    model = BudgetedBoostingClassifier("adaboost_bt", rounds=3, folds=0).fit(X, y)

    labels = model.predict(X[:1], budget=0)
    chances = model.predict_proba(X[:1], budget=0)

    assert labels.tolist() == [[1, 0]]
    np.testing.assert_allclose(chances[0], y.mean(axis=0))
