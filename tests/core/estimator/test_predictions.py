"""Predictions under budgets, policies and aims; frames in, the caller's words out."""

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sklearn import clone, config_context
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.utils import estimator_html_repr

from askless.core.catalogue.catalogue import NO_GROUP
from askless.core.errors import RefusedError
from askless.core.estimator.classifier import BudgetedBoostingClassifier
from tests.curves import curve_of
from tests.panels import make_ladder, make_stopping

N_ROWS = 60


def make(**params):
    plain = {"rounds": 4, "folds": 0, "random_state": 0}
    return BudgetedBoostingClassifier("adaboost_bt_smoothed", **plain | params)


@pytest.fixture(scope="module")
def table():
    """Numbers, words and booleans; the class follows from all of them."""
    random = np.random.default_rng(0)
    age = random.integers(20, 80, N_ROWS).astype(float)
    sex = random.choice(["female", "male"], N_ROWS)
    smokes = random.random(N_ROWS) < 0.4
    score = age / 20 + (sex == "male") + 2 * smokes + random.normal(size=N_ROWS)
    age[::7] = np.nan
    columns = {"age": age, "sex": sex.tolist(), "smokes": smokes.tolist()}
    return pa.table(columns), np.where(score > np.median(score), 10, 2)


@pytest.fixture(scope="module")
def fitted(table):
    return make(costs={"age": 1, "sex": 2, "smokes": 4}).fit(*table)


def test_columns_have_the_types_that_the_service_finds(fitted):
    features = fitted.ensemble_.catalogue.features

    assert [(feature.name, feature.type) for feature in features] == [
        ("age", "number"),
        ("sex", "category"),
        ("smokes", "boolean"),
    ]
    assert features[1].categories == ("female", "male")


def test_classes_stay_the_callers_where_their_texts_sort_otherwise(table, fitted):
    X, y = table
    chances = fitted.predict_proba(X)

    assert fitted.classes_.tolist() == [2, 10]
    assert [label.label for label in fitted.ensemble_.classes] == ["10", "2"]
    assert fitted.predict(X).tolist() == fitted.classes_[chances.argmax(1)].tolist()
    assert fitted.score(X, y) > 0.7
    assert chances[:, 1] @ (y == 10) > chances[:, 0] @ (y == 10)


def test_each_row_may_have_a_budget_of_its_own(table, fitted):
    X, _ = table
    budgets = np.tile([0, 3.0, np.inf], N_ROWS // 3)

    chances, spends = (
        fitted.predict_proba(X, budgets),
        fitted.spend(X, budget=budgets),
    )

    assert (spends <= budgets).all()
    for budget in (0, 3, None):
        its = budgets == (np.inf if budget is None else budget)
        assert (chances[its] == fitted.predict_proba(X, budget=budget)[its]).all()


def test_budget_of_the_constructor_is_that_of_every_call(table, fitted):
    X, y = table
    bounded = clone(fitted).set_params(budget=3).fit(X, y)

    assert bounded.spend(X).max() <= 3 < bounded.spend(X, budget=np.inf).max()
    assert bounded.predict(X).tolist() == fitted.predict(X, budget=3).tolist()
    error = bounded.error_curve(X, y, [3]).errors[0]
    assert bounded.score(X, y) == pytest.approx(1 - error)
    assert [feature_idx.total for feature_idx in bounded.plan()] == [
        feature_idx.total for feature_idx in fitted.plan(budget=3)
    ]


def test_asked_features_cost_what_is_spent(table, fitted):
    X, _ = table
    costs = {"age": 1, "sex": 2, "smokes": 4}

    asked = fitted.asked(X, budget=5)

    # What is missing is asked for, and is not charged.
    paid = [
        sum(costs[one] for one in its if row[one] is not None and row[one] == row[one])
        for its, row in zip(asked, X.to_pylist(), strict=True)
    ]
    assert paid == fitted.spend(X, budget=5).tolist()


def test_plan_lists_purchases_with_their_prices_in_units(fitted):
    plan = fitted.plan()

    assert {feature_idx.features for feature_idx in plan} == {
        ("age",),
        ("sex",),
        ("smokes",),
    }
    assert sum(feature_idx.price for feature_idx in plan) == plan[-1].total == 7.0
    assert fitted.plan(budget=0) == []


def test_bundle_of_columns_is_planned_and_paid_once(table):
    X, y = table
    groups = [{"members": ["sex", "smokes"], "price": 2.5, "name": "form"}]
    model = make(groups=groups).fit(X, y)

    plan = model.plan()

    assert {feature_idx.features for feature_idx in plan} == {
        ("age",),
        ("sex", "smokes"),
    }
    assert plan[-1].total == 3.5
    assert model.spend(X).max() == 3.5


def test_patterns_name_columns_in_costs_and_groups():
    columns = ["age", "lab_a", "lab_b", "test_x", "test_y"]
    X = pa.table({name: np.arange(8.0) + idx for idx, name in enumerate(columns)})
    groups = [{"members": ["lab_*"], "price": 5}, {"members": ["*_y", 3], "fee": 2}]
    model = make(costs={"*": 3, "age": 1}, groups=groups)

    catalogue = model.fit(X, [0, 1] * 4).ensemble_.catalogue

    assert catalogue.costs.tolist() == [10**6, 0, 0, 3 * 10**6, 3 * 10**6]
    assert catalogue.group_idxs.tolist() == [NO_GROUP, 0, 0, 1, 1]
    with pytest.raises(RefusedError, match="costs: there is no feature; found 'zz_"):
        make(costs={"zz_*": 3}).fit(X, [0, 1] * 4)


def test_codes_for_missing_and_rare_categories_are_read_as_a_spec_says(table):
    X, y = table
    words = ["-9", "n.d.", *["a", "b"] * (N_ROWS // 2)][:N_ROWS]
    numbers = np.where(np.arange(N_ROWS) % 3 == 0, -9.0, np.arange(N_ROWS))
    X = pa.table({"word": words, "number": numbers, "sex": X["sex"]})

    model = make(missing=["n.d.", np.int64(-9)], rare=29).fit(X, y)

    word, number, sex = model.ensemble_.catalogue.features
    assert model.model_.card["missing_cells"] == 2 + N_ROWS // 3
    assert word.missing == number.missing == ("n.d.", "-9")
    assert word.categories == ("a", "b")
    assert sex.has_other


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"missing": "x"}, "^missing: must be a list; found 'x'"),
        (
            {"missing": [np.nan]},
            r"^missing\[0\]: must be a word or a number; found nan",
        ),
        ({"rare": -1}, "^rare: must be an integer from 0 to 1000000; found -1"),
    ],
)
def test_wrong_codes_and_counts_are_refused(table, given, refusal):
    with pytest.raises(RefusedError, match=refusal):
        make(**given).fit(*table)


def test_columns_without_names_are_asked_by_their_places():
    X = np.arange(12.0)[:, None]
    model = make().fit(X, X[:, 0] > 5)

    assert model.asked(X[:1]) == [(0,)]
    assert model.plan()[0].features == (0,)


@pytest.mark.slow
def test_policy_asks_where_it_is_told_to(table, fitted):
    X, _ = table
    drawing = clone(fitted).set_params(policy="sample").fit(*table)

    drawn = fitted.predict_proba(X, budget=3, policy="sample")

    assert (drawing.predict_proba(X, budget=3) == drawn).all()
    assert (drawn != fitted.predict_proba(X, budget=3)).any()


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"policy": "panels"}, "policy: must be one of ordered, .*; found 'panels'"),
        ({"budget": [1, 2]}, "budget: must be one amount, or one for each of 60 rows"),
        ({"budget": ["x"] * N_ROWS}, r"budget\[0\]: must be .*; found 'x'"),
        ({"aim": {"mean_budget": 3}}, "aim: is not for the policy ordered"),
        ({"aim": {"mean_budget": -3}}, "aim.mean_budget: must be .*; found -3"),
        ({"aim": {"mean_spend": 3}}, "aim: must be one of .*; found 'mean_spend'"),
        ({"aim": {}}, "aim: must be one of mean_budget, .*; found 0 of them"),
        ({"aim": 3}, "aim: must be one of mean_budget, .* with a number; found 3"),
    ],
)
def test_wrong_wish_is_refused_by_name(table, fitted, given, refusal):
    with pytest.raises(RefusedError, match=refusal):
        fitted.predict(table[0], **given)


def test_many_wrong_budgets_are_counted(table, fitted):
    with pytest.raises(RefusedError) as refused:
        fitted.predict(table[0], budget=[-1] * N_ROWS)

    assert len(refused.value.refusals) == 6
    assert str(refused.value.refusals[-1]) == "budget: and 55 more"


@pytest.fixture(scope="module")
def adaptive(table, fitted):
    """The estimator with panels made up, and rules for going on."""
    model = make(costs={"age": 1, "sex": 2, "smokes": 4}).fit(*table)
    ladder = make_ladder(model.ensemble_, [[0, 1, 2]])
    ladder = replace(ladder, stopping=make_stopping(len(ladder.panels)))
    ensemble = replace(fitted.ensemble_, panels=ladder, policy="adaptive")
    model.ensemble_ = ensemble
    model.model_ = replace(model.model_, ensemble=ensemble)
    return model


def test_aims_are_reached_within_the_budget(table, adaptive):
    X, y = table
    aims = [{"error_price": 1}, {"error_price": np.float64(9)}]

    curve = adaptive.error_curve(X, y, [5], aims=aims)

    assert curve.budgets == (5.0, 5.0)
    assert curve.mean_spends == pytest.approx(
        [adaptive.spend(X, 5, aim=aim).mean() for aim in aims]
    )
    assert adaptive.spend(X, 5, aim=aims[0]).max() <= 5


@pytest.mark.parametrize(
    ("budgets", "aims", "refusal"),
    [
        ([1, 2], [{"error_price": 1}], "budgets: must be one beside aims; found 2"),
        (None, "error_price", "aims: must be a list; found 'error_price'"),
        (None, [{"error_price": 0}], r"aims\[0\].error_price: must be positive"),
    ],
)
def test_wrong_aims_are_refused(table, adaptive, budgets, aims, refusal):
    with pytest.raises(RefusedError, match=refusal):
        adaptive.error_curve(*table, budgets, aims=aims)


def test_curve_is_in_units_and_weighted(table, fitted):
    X, y = table
    is_right = fitted.predict(X) == y

    curve = fitted.error_curve(X, y, sample_weight=np.where(is_right, 1, 3))

    wrong = 3 * (~is_right).sum()
    assert curve.budgets == (None,)
    assert curve.errors[0] == pytest.approx(wrong / (wrong + is_right.sum()))
    assert curve.max_spends == (7.0,)
    assert curve.intervals[0][0] < curve.errors[0] < curve.intervals[0][1]


@pytest.mark.parametrize("weights", [[1.0], np.zeros(N_ROWS), -np.ones(N_ROWS)])
def test_wrong_weights_of_a_curve_are_refused(table, fitted, weights):
    with pytest.raises(RefusedError, match="sample_weight: must be 60 finite numbers"):
        fitted.error_curve(*table, sample_weight=weights)


@pytest.mark.slow
def test_folds_give_a_curve_and_calibrate(table):
    X, y = table
    model = make(folds=3, rounds=2).fit(X, y)

    assert model.curve_.budgets[0] == 0
    assert model.curve_.n_samples == N_ROWS
    assert model.model_.card["folds"] == 3
    assert make().fit(X, y).curve_ is None


def test_rows_of_one_group_stay_in_one_fold(table):
    X, y = table
    groups = np.arange(N_ROWS) // 20

    model = make(folds=5, rounds=2).fit(X, y, groups=groups)

    assert model.model_.card["folds"] == 3


@pytest.mark.parametrize(
    ("groups", "refusal"),
    [
        ([1, 2], r"groups: must have 60 values, .*; found the shape \(2,\)"),
        ([None] * N_ROWS, "groups: must not be empty; found none in row 1"),
    ],
)
def test_wrong_groups_of_rows_are_refused(table, groups, refusal):
    with pytest.raises(RefusedError, match=refusal):
        make().fit(*table, groups=groups)


def test_search_over_budgets_sees_what_they_cost(table):
    X, y = table
    numbers = np.column_stack((X["age"], np.array(X["sex"]) == "male"))
    search = GridSearchCV(make(rounds=2), {"budget": [0, None]}, cv=2)

    search.fit(numbers, y)

    assert search.best_params_ == {"budget": None}


def test_groups_and_weights_are_routed(table):
    X, y = table
    numbers = np.column_stack((X["age"], np.array(X["sex"]) == "male"))
    routed = {"groups": np.arange(N_ROWS) % 6, "sample_weight": np.ones(N_ROWS)}

    with config_context(enable_metadata_routing=True):
        model = make(rounds=2).set_fit_request(groups=True, sample_weight=True)
        model.set_score_request(sample_weight=True)
        found = cross_validate(
            model, numbers, y, params=routed, cv=GroupKFold(2), return_estimator=True
        )

    assert np.isfinite(found["test_score"]).all()


def test_page_shows_parameters_that_differ(fitted):
    text = re.sub(r"<[^>]*>", "", estimator_html_repr(fitted))

    assert "BudgetedBoostingClassifier" in text
    assert "adaboost_bt_smoothed" in text


def test_word_that_training_did_not_see_is_warned_of(table, fitted):
    X, _ = table
    words = ["other"] * 30 + X["sex"].to_pylist()[30:]
    other = X.set_column(1, "sex", pa.array(words))

    with pytest.warns(UserWarning, match="sex: 30 rows with categories"):
        fitted.predict(other)


def test_oddities_of_columns_are_kept(table):
    X, y = table
    ids = pa.array([f"p{idx}" for idx in range(N_ROWS)])

    model = make().fit(X.append_column("id", ids), y)

    assert model.warnings_ == (
        "id: looks like an identifier, each row has its own value",
    )


def test_column_that_cannot_be_read_is_refused(table):
    X, y = table
    endless = pa.array([np.inf] * N_ROWS)

    with pytest.raises(RefusedError, match="column far: must be finite"):
        make().fit(X.append_column("far", endless), y)


def test_classes_of_one_writing_are_refused(table):
    X, _ = table
    y = np.array(["a", " a"] * (N_ROWS // 2))

    with pytest.raises(RefusedError, match="y: must have classes that differ"):
        make().fit(X, y)


def test_curve_wants_one_class_for_each_row(table, fitted):
    X, y = table

    assert fitted.error_curve(X, y[:, None]) == fitted.error_curve(X, y)
    with pytest.raises(RefusedError, match=r"y: .* found the shape \(60, 2\)"):
        fitted.error_curve(X, np.column_stack((y, y)))


def test_budget_that_errs_more_than_a_smaller_one_is_not_spent(table, fitted):
    X, _ = table
    model = clone(fitted).fit(*table)
    curve = curve_of((0.4, 0.1, 0.3, 0.2, 0.2, 0.05))
    model.model_ = replace(model.model_, curve=curve)

    assert model.best_budget(2) == 1
    assert model.best_budget(0.5) == 0.5
    assert model.best_budget() is None
    assert model.spend(X, 2).tolist() == fitted.spend(X, 1).tolist()
    exact = model.spend(X, 2, exact_budget=True)
    assert exact.tolist() == fitted.spend(X, 2).tolist()
    assert exact.tolist() != fitted.spend(X, 1).tolist()
    named = model.spend(X, 2, policy="ordered")
    assert named.tolist() == fitted.spend(X, 2, policy="ordered").tolist()
