from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError

import core
from askless import BudgetedBoostingClassifier
from core.errors import RefusedError
from core.estimator.conventions import hash_rows
from core.session.probability import decide
from core.simulation.simulate import class_probabilities, class_votes, walk
from core.table.catalogue import NO_GROUP
from core.table.costs import read_catalogue
from core.table.dataset import Dataset
from core.table.prices import AMOUNT_RULE, Paid, buy
from core.training.algorithms import ALGORITHMS
from core.training.baselines import BASELINES
from core.training.params import BoostParams
from tests.small import finish, train


def smoothed(**params):
    return without_folds("adaboost_bt_smoothed", **params)


def without_folds(algorithm="auto", **params):
    return BudgetedBoostingClassifier(algorithm, **{"folds": 0} | params)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :6], y


@pytest.fixture(scope="module")
def fitted(cancer):
    return smoothed(rounds=2).fit(*cancer)


def test_budget_bounds_what_predictions_cost(cancer):
    X, y = cancer
    model = smoothed(costs=[3, 1, 4, 1, 5, 9], rounds=20).fit(X, y)

    curve = model.error_curve(X, y, [0, 1, 5.5, None])

    assert all(
        spent <= budget
        for spent, budget in zip(curve.max_spends[:3], curve.budgets[:3], strict=True)
    )


def test_curve_agrees_with_predict(cancer):
    X, y = cancer
    model = smoothed(rounds=20).fit(X, y)

    curve = model.error_curve(X, y, [2])

    assert curve.errors[0] == pytest.approx(np.mean(model.predict(X, budget=2) != y))
    assert curve.budgets == (2.0,)
    assert curve.max_spends == (2.0,)


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


def test_weights_that_leave_one_class_are_refused(cancer):
    X, y = cancer

    with pytest.raises(RefusedError, match="two classes among the rows of positive"):
        BudgetedBoostingClassifier().fit(X, y, (y == 1).astype(float))


def refusals_of(refused):
    return [str(refusal) for refusal in refused.value.refusals]


@pytest.mark.parametrize("given", [2.7, None, np.nan, "x", 10**20, True, [3], 0])
def test_rounds_other_than_a_spec_allows_are_refused(cancer, given):
    with pytest.raises(RefusedError) as refused:
        smoothed(rounds=given).fit(*cancer)

    rule = "params.rounds: must be an integer from 1 to 100000"
    assert refusals_of(refused) == [f"{rule}; found {given!r}"]


@pytest.mark.parametrize(
    ("params", "refusal"),
    [
        (
            {"algorithm": "magic"},
            "algorithm: must be one of auto, panels, adaboost, .*; found 'magic'",
        ),
        ({"algorithm": ["a"]}, "algorithm: must be one of .*; found \\['a'\\]"),
        ({"learner": "forest"}, "learner: must be one of stump, .*; found 'forest'"),
        ({"search": None}, "search: must be one of all, .*; found None"),
        ({"label_weights": 1}, "label_weights: must be one of balanced, uniform"),
        ({"rounds": np.float64(2.7)}, "rounds: must be an integer .*; found 2.7"),
        ({"tau": 2}, "tau: must be a number from 0 to 1; found 2"),
        ({"tau": "some"}, "tau: must be a number from 0 to 1; found 'some'"),
        ({"tau": np.array([0.1, 2])}, "tau: must be .*; found \\[0.1, 2.0\\]"),
        ({"switch": -0.1}, "switch: must be a number from 0 to 1; found -0.1"),
        ({"stages": 51}, "stages: must be an integer from 1 to 50; found 51"),
        ({"detection": 0.4}, "detection: must be a number from 0.5 to 1; found 0.4"),
        ({"false_alarm": np.nan}, "false_alarm: must be a number .*; found nan"),
        ({"leaves": 1000}, "leaves: must be an integer from 2 to 64; found 1000"),
        ({"leaves": "auto"}, "leaves: must be an integer from 2 to 64; found 'auto'"),
        ({"factors": 100}, "factors: must be an integer from 1 to 8; found 100"),
        ({"search_size": 0}, "search_size: must be an integer from 1 to 1000000"),
        ({"least_missing": 0}, "least_missing: must be an integer from 1 to 1000000"),
        ({"cost_floor": 0}, "cost_floor: must be positive; found 0"),
        ({"cost_floor": -1}, "cost_floor: must be a number from 0 to .*; found -1"),
        (
            {"rounds": "auto", "algorithm": "bagging"},
            "rounds: can be chosen for .* only; found 'auto'",
        ),
        ({"tau": "auto", "algorithm": "adaboost"}, "tau: can be chosen for .*hybrid"),
        ({"switch": "auto"}, "switch: can be chosen for hybrid only; found 'auto'"),
    ],
)
def test_wrong_parameter_is_refused_as_in_a_spec(cancer, params, refusal):
    with pytest.raises(RefusedError, match=refusal):
        BudgetedBoostingClassifier(
            **{"algorithm": "adaboost_bt_smoothed"} | params
        ).fit(*cancer)


def test_all_wrong_parameters_are_named_at_once(cancer):
    with pytest.raises(RefusedError) as refused:
        smoothed(rounds=0, leaves=1, tau=2).fit(*cancer)

    fields = [refusal.field for refusal in refused.value.refusals]
    assert fields == ["params.rounds", "params.tau", "params.leaves"]


@pytest.mark.parametrize("folds", [1, -1, 51, 2.5, None, "5"])
def test_folds_other_than_a_spec_allows_are_refused(cancer, folds):
    with pytest.raises(RefusedError, match=r"validation\.folds: must be"):
        smoothed(folds=folds).fit(*cancer)


def test_seed_that_a_spec_does_not_allow_is_refused(cancer):
    with pytest.raises(RefusedError, match="random_state: must be an integer from 0"):
        smoothed(random_state=-1).fit(*cancer)


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


@pytest.mark.parametrize(
    ("costs", "refusals"),
    [
        ([1, 2], ["costs: must be one for each of 6 features; found 2"]),
        ([], ["costs: must be one for each of 6 features; found 0"]),
        (5, ["costs: must be a list or a mapping; found 5"]),
        (np.float64(5), ["costs: must be a list or a mapping; found 5.0"]),
        ("123456", ["costs: must be a list or a mapping; found '123456'"]),
        ({"zz": 1}, ["costs: there is no feature; found 'zz'"]),
        (
            {99: 1, -1: 1, True: 1},
            [f"costs: there is no feature; found {key}" for key in (99, -1, True)],
        ),
        ({0: 1, "0": 2}, ["costs: a feature has one cost; found '0'"]),
        (
            [1, 1, 1, None, 1, -1],
            [
                f"costs.3: {AMOUNT_RULE}; found None",
                f"costs.5: {AMOUNT_RULE}; found -1",
            ],
        ),
        ({1: np.nan}, [f"costs.1: {AMOUNT_RULE}; found nan"]),
    ],
)
def test_wrong_costs_are_refused_by_name(cancer, costs, refusals):
    with pytest.raises(RefusedError) as refused:
        smoothed(costs=costs).fit(*cancer)

    assert refusals_of(refused) == refusals


@pytest.mark.parametrize(
    ("groups", "refusals"),
    [
        (5, ["groups: must be a list; found 5"]),
        ([5], ["groups[0]: must be an object; found 5"]),
        ([{"fee": 1}], ["groups[0].members: must name a feature"]),
        ([{"fee": 1, "members": ()}], ["groups[0].members: must name a feature"]),
        (
            [{"fee": 1, "members": [0, 9, "zz"]}],
            [
                "groups[0].members: there is no feature; found 9",
                "groups[0].members: there is no feature; found 'zz'",
            ],
        ),
        ([{"members": [0]}], ["groups[0]: must have a fee, or as a bundle a price"]),
        (
            [{"members": [0], "fee": 1, "price": 1}],
            ["groups[0]: must have a fee, or as a bundle a price"],
        ),
        (
            [{"members": [0], "fee": 1, "fees": 1}],
            [
                "groups[0]: unknown field; expected name, fee, price, label, members; "
                "found 'fees'"
            ],
        ),
        (
            [{"members": [0], "fee": 1, "name": 5}],
            ["groups[0].name: must be a string; found 5"],
        ),
        ([{"members": [0], "fee": -1}], [f"groups[0].fee: {AMOUNT_RULE}; found -1"]),
        (
            [
                {"members": [0], "fee": 1, "name": "a"},
                {"members": [1], "fee": 5, "name": "a"},
            ],
            ["groups[1].name: must be unique among groups; found 'a'"],
        ),
        (
            [{"members": [0, "0"], "fee": 1}],
            ["groups[0].members: a feature is a member once, of one group; found '0'"],
        ),
        (
            [{"members": [0], "fee": 1}, {"members": [0], "price": 1}],
            ["groups[1].members: a feature is a member once, of one group; found '0'"],
        ),
    ],
)
def test_wrong_groups_are_refused_as_in_a_spec(cancer, groups, refusals):
    with pytest.raises(RefusedError) as refused:
        smoothed(groups=groups).fit(*cancer)

    assert refusals_of(refused) == refusals


def test_member_of_a_bundle_has_no_cost_of_its_own(cancer):
    groups = [{"members": [0, 1], "price": 1}]

    with pytest.raises(
        RefusedError, match=r"costs\.0: a member of a bundle has no cost"
    ):
        smoothed(groups=groups, costs={0: 1, 1: 0}).fit(*cancer)


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


@pytest.mark.parametrize("budget", [-1, "1", np.nan, True, 1e10])
def test_wrong_budget_is_refused_by_name(cancer, fitted, budget):
    for predict in (fitted.predict, fitted.predict_proba):
        with pytest.raises(RefusedError) as refused:
            predict(cancer[0], budget=budget)
        assert refusals_of(refused) == [f"budget: {AMOUNT_RULE}; found {budget!r}"]


@pytest.mark.parametrize(
    ("budgets", "refusals"),
    [
        (5, ["budgets: must be a list; found 5"]),
        (
            [1, -1, None, "x"],
            [
                f"budgets[1]: {AMOUNT_RULE}; found -1",
                f"budgets[3]: {AMOUNT_RULE}; found 'x'",
            ],
        ),
    ],
)
def test_wrong_budgets_of_a_curve_are_refused_by_name(
    cancer, fitted, budgets, refusals
):
    with pytest.raises(RefusedError) as refused:
        fitted.error_curve(*cancer, budgets)

    assert refusals_of(refused) == refusals


def test_budgets_may_be_an_array(cancer, fitted):
    curve = fitted.error_curve(*cancer, np.array([1, 2.5]))

    assert curve == fitted.error_curve(*cancer, [1, 2.5])


def by_training(model, X, y, **more):
    """The ensemble of `core.pipeline.train` with the estimator's own parameters."""
    classes = model.ensemble_.classes
    dataset = Dataset(
        model.ensemble_.catalogue, classes, X, y, np.full(len(y), 1 / len(y))
    )
    return finish(train(dataset, folds=0, **more))


@pytest.mark.usefixtures("short_panels")
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_is_that_of_a_training(cancer, algorithm):
    # Weights of 1/512 sum to 1 exactly.
    X, y = (given[:512] for given in cancer)
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
    walks = walk(model.ensemble_, X, [2_000_000], seed=model._seed, streams=streams)
    votes = class_votes(model.ensemble_, walks)[:, 0]
    chances = class_probabilities(model.ensemble_, walks)[:, 0]
    labels = decide(model.ensemble_, chances)
    assert model.predict(X, budget=2).tolist() == labels.tolist()
    assert model.predict_proba(X, budget=2).tolist() == chances.tolist()
    curve = model.error_curve(X, y, [2])
    assert curve.errors[0] == pytest.approx(np.mean(labels != y))
    assert curve.vote_errors[0] == pytest.approx(np.mean(votes != y))


@pytest.mark.slow
def test_cascade_predicts_the_most_probable_class(cancer):
    X, y = cancer
    model = without_folds("cascade", detection=0.9, random_state=0).fit(X, y)

    stages = walk(model.ensemble_, X, [None]).marks[:, 0]

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
    monkeypatch.setattr(core.pipeline.spec, "AUTO_ROUNDS", 9)
    model = without_folds(algorithm, random_state=1, **auto).fit(X, y)

    names = frozenset(name for name, value in auto.items() if value == "auto")
    params = BoostParams(algorithm, rounds=rounds, seed=model._seed)
    expected = by_training(model, X, y, params=params, auto=names)
    assert model.ensemble_ == expected.ensemble
    assert {name: getattr(model.params_, name) for name in names} == (
        expected.card["chosen"]
    )
    assert model.get_params()["switch"] == auto.get("switch", 0.1)


def test_cascade_of_three_classes_is_refused(cancer):
    X, y = cancer

    with pytest.raises(ValueError, match="algorithm: a cascade has two classes"):
        BudgetedBoostingClassifier("cascade").fit(X, np.arange(len(y)) % 3)


def test_rates_that_cannot_be_met_are_refused_by_name(cancer):
    X, y = cancer
    random = np.random.default_rng(0).permutation(y)

    with pytest.raises(ValueError, match=r"params\.false_alarm: stage 1 must pass"):
        without_folds("cascade", rounds=3, random_state=0).fit(X, random)


@pytest.mark.parametrize("algorithm", ["cascade", *BASELINES])
def test_several_labels_at_once_are_for_boosting_only(cancer, algorithm):
    X, _ = cancer
    model = BudgetedBoostingClassifier(algorithm)

    with pytest.raises(
        ValueError, match=r"algorithm: must be one of .* several labels"
    ):
        model.fit(X, labels_of(X))
    assert not model.__sklearn_tags__().classifier_tags.multi_label


def test_nothing_is_chosen_for_several_labels_at_once(cancer):
    X, _ = cancer
    model = smoothed(rounds="auto", tau="auto")

    with pytest.raises(
        ValueError, match=r"params\.rounds: can be chosen for one class"
    ):
        model.fit(X, labels_of(X))
    assert not model.__sklearn_tags__().classifier_tags.multi_label


@pytest.mark.parametrize(
    ("wrong", "refusal"),
    [
        (lambda y: np.where(y == 0, 5, y), r"only the classes \[0, 1\]; found 5"),
        (lambda y: y[:5], "must have 569 classes, .*; found 5"),
    ],
)
def test_curve_of_other_classes_is_refused(cancer, fitted, wrong, refusal):
    X, y = cancer

    with pytest.raises(RefusedError, match=f"y: .*{refusal}"):
        fitted.error_curve(X, wrong(y), [1])


def test_one_class_is_refused(cancer):
    X, y = cancer

    with pytest.raises(RefusedError, match="y: must have two classes; found 1 class"):
        BudgetedBoostingClassifier().fit(X, np.zeros_like(y))


def test_unfitted_estimator_says_so(cancer):
    with pytest.raises(NotFittedError):
        BudgetedBoostingClassifier().predict(cancer[0])


def test_names_give_costs_to_columns():
    X = pa.table({"a": [0.0, 1, 2, 3], "b": [1.0, 0, 1, 2]})
    groups = [{"members": ["a"], "fee": 2}]
    model = smoothed(costs={"b": 3}, groups=groups, rounds=2)

    catalogue = model.fit(X, [0, 1, 1, 0]).ensemble_.catalogue

    assert catalogue.costs.tolist() == [1_000_000, 3_000_000]
    assert catalogue.group_idxs.tolist() == [0, NO_GROUP]


def test_columns_of_one_name_are_refused():
    with pytest.raises(RefusedError) as refused:
        read_catalogue(["a", "b", "a"], None, None)

    assert refusals_of(refused) == [
        "X: must have one column of each name; found ['a', 'b', 'a']"
    ]


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
