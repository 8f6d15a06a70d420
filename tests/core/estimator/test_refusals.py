"""Parameters and tables that the estimator refuses, by name and rule."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from askless import BudgetedBoostingClassifier
from askless.core.catalogue.costs import read_catalogue
from askless.core.catalogue.prices import AMOUNT_RULE
from askless.core.errors import RefusedError
from tests.estimators import refusals_of, smoothed


def test_weights_that_leave_one_class_are_refused(cancer):
    X, y = cancer

    with pytest.raises(RefusedError, match="two classes among the rows of positive"):
        BudgetedBoostingClassifier().fit(X, y, (y == 1).astype(float))


@pytest.mark.parametrize(
    ("params", "refusal"),
    [
        (
            {"algorithm": "magic"},
            "algorithm: must be one of auto, panels, adaboost, .*; found 'magic'",
        ),
        ({"algorithm": ["a"]}, "algorithm: must be one of .*; found \\['a'\\]"),
        ({"tau": np.array([0.1, 2])}, "tau: must be .*; found \\[0.1, 2.0\\]"),
        ({"leaves": "auto"}, "leaves: must be an integer from 2 to 64; found 'auto'"),
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


@pytest.mark.parametrize("folds", [1, 51, None])
def test_folds_other_than_a_spec_allows_are_refused(cancer, folds):
    with pytest.raises(RefusedError, match=r"validation\.folds: must be"):
        smoothed(folds=folds).fit(*cancer)


def test_seed_that_a_spec_does_not_allow_is_refused(cancer):
    with pytest.raises(RefusedError, match="random_state: must be an integer from 0"):
        smoothed(random_state=-1).fit(*cancer)


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
                "groups[0]: unknown field; expected name, fee, price, label, members, "
                "billing; found 'fees'"
            ],
        ),
        (
            [{"members": [0], "fee": 1, "billing": "per_cell"}],
            [
                "groups[0].billing: must be one of per_answer, per_call; "
                "found 'per_cell'"
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


@pytest.mark.parametrize("budget", [-1, "1", np.nan, True, 1e10])
def test_wrong_budget_is_refused_by_name(cancer, fitted, budget):
    for predict in (fitted.predict, fitted.predict_proba):
        with pytest.raises(RefusedError) as refused:
            predict(cancer[0], budget=budget)
        text = ", and a number, not a text" if isinstance(budget, str) else ""
        assert refusals_of(refused) == [
            f"budget: {AMOUNT_RULE}{text}, or None for no limit; found {budget!r}"
        ]


@pytest.mark.parametrize(
    ("budgets", "refusals"),
    [
        (5, ["budgets: must be a list; found 5"]),
        (
            [1, -1, None, "x"],
            [
                f"budgets[1]: {AMOUNT_RULE}; found -1",
                f"budgets[3]: {AMOUNT_RULE}, and a number, not a text; found 'x'",
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


def test_columns_of_one_name_are_refused():
    with pytest.raises(RefusedError) as refused:
        read_catalogue(["a", "b", "a"], None, None)

    assert refusals_of(refused) == [
        "X: must have one column of each name; found ['a', 'b', 'a']"
    ]
