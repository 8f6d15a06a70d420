"""Types, costs of errors and weights of classes, as an estimator is told them."""

import numpy as np
import pytest

from askless import BudgetedBoostingClassifier
from askless.core.errors import RefusedError

CODES = np.array(["007.1", "7.1", "038.11", "38.11"])
CHANCES = np.array([0.95, 0.05, 0.9, 0.1])


@pytest.fixture(scope="module")
def coded():
    """Codes that decide the class, beside noise."""
    rng = np.random.default_rng(1)
    places = rng.integers(0, 4, 400)
    y = (rng.random(400) < CHANCES[places]).astype(int)
    return places, rng.normal(size=400), y


def quick(**params):
    settings = {"rounds": 4, "folds": 0, "random_state": 0}
    return BudgetedBoostingClassifier("adaboost_bt_smoothed", **settings | params)


def type_of(model, name):
    features = model.ensemble_.catalogue.features
    return next(feature.type for feature in features if feature.name == name)


@pytest.mark.parametrize("kind", [object, "string", "category"])
def test_texts_and_categories_of_pandas_are_categories(coded, kind):
    pd = pytest.importorskip("pandas")
    places, noise, y = coded
    X = pd.DataFrame({"code": pd.Series(CODES[places], dtype=kind), "a": noise})

    model = quick().fit(X, y)

    assert type_of(model, "code") == "category"
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("kind", ["String", "Categorical", "Enum"])
def test_texts_and_categories_of_polars_are_categories(coded, kind):
    pl = pytest.importorskip("polars")
    places, noise, y = coded
    dtype = pl.Enum(sorted(CODES)) if kind == "Enum" else getattr(pl, kind)
    X = pl.DataFrame({"code": pl.Series(CODES[places], dtype=dtype), "a": noise})

    assert type_of(quick().fit(X, y), "code") == "category"


def test_whole_numbers_beyond_doubles_are_categories_by_their_digits(coded):
    pd = pytest.importorskip("pandas")
    places, noise, y = coded
    X = pd.DataFrame({"code": 900000000000207008 + places, "a": noise})

    model = quick().fit(X, y)

    assert type_of(model, "code") == "category"
    assert model.ensemble_.catalogue.features[0].categories[0] == "900000000000207008"
    assert model.score(X, y) > 0.85


def test_a_parameter_says_types_by_name_position_or_pattern(coded):
    pd = pytest.importorskip("pandas")
    places, noise, y = coded
    X = pd.DataFrame({"code": places, "text": places.astype(str), "a": noise})
    types = {"co*": "category", 1: "number"}

    model = quick(feature_types=types).fit(X, y)
    by_itself = quick().fit(X, y)

    assert [type_of(model, name) for name in X] == ["category", "number", "number"]
    assert [type_of(by_itself, name) for name in X] == ["number", "category", "number"]


@pytest.mark.parametrize(
    ("params", "refusal"),
    [
        ({"feature_types": {"cod": "category"}}, "no feature; the nearest is 'code'"),
        ({"feature_types": {"code": "text"}}, "feature_types.code: must be one of num"),
        ({"feature_types": ["category"]}, "feature_types: must map features to types"),
        ({"costs": {"cod": 2}}, "costs: there is no feature; the nearest is 'code'"),
        ({"missing_words": "NA"}, "missing_words: must be a list"),
        ({"error_costs": {2: {0: 1}}}, "error_costs: must name the classes 0, 1"),
        ({"error_costs": {0: 1}}, "error_costs: must map each true class"),
        ({"error_costs": {0: {1: -1}}}, "error_costs.0.1: must be a number from 0"),
        ({"class_weight": {0: -1, 1: 1}}, "class_weight: must have finite weights"),
        ({"class_weight": "even"}, "class_weight: .*balanced"),
    ],
)
def test_wrong_types_costs_and_weights_are_refused_by_name(coded, params, refusal):
    pd = pytest.importorskip("pandas")
    places, noise, y = coded
    X = pd.DataFrame({"code": places, "a": noise})

    with pytest.raises(RefusedError, match=refusal):
        quick(**params).fit(X, y)


def test_labels_are_those_of_least_expected_cost(coded):
    places, noise, y = coded
    X = np.column_stack([places, noise])
    plain = quick().fit(X, y)
    dear = quick(error_costs={1: {0: 1000}, 0: {1: 1}}).fit(X, y)

    assert dear.predict(X).mean() > plain.predict(X).mean()
    np.testing.assert_array_equal(dear.predict_proba(X), plain.predict_proba(X))


def test_costs_are_found_by_classes_of_any_type(coded):
    places, noise, y = coded
    X = np.column_stack([places, noise])
    costs = {"yes": {"no": 7}}
    model = quick(error_costs=costs).fit(X, np.where(y == 1, "yes", "no"))
    whole = quick(error_costs={1.0: {0.0: 7}}).fit(X, y)

    assert model.ensemble_.error_costs == ((0.0, 0.0), (7.0, 0.0))
    assert whole.ensemble_.error_costs == ((0.0, 0.0), (7.0, 0.0))


def test_weights_of_classes_multiply_those_of_rows(coded):
    places, noise, y = coded
    X = np.column_stack([places, noise])
    weighed = quick(class_weight={0: 1, 1: 5}).fit(X, y)
    by_rows = quick().fit(X, y, np.where(y == 1, 5.0, 1.0))
    balanced = quick(class_weight="balanced").fit(X, y)

    np.testing.assert_array_equal(weighed.predict_proba(X), by_rows.predict_proba(X))
    assert balanced.ensemble_.priors == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize("name", ["error_costs", "class_weight"])
def test_batches_can_have_neither_costs_nor_weights(coded, name):
    places, noise, y = coded
    X = np.column_stack([places, noise])
    model = BudgetedBoostingClassifier("online", **{name: {0: {1: 2}}})

    with pytest.raises(RefusedError, match=f"{name}: can be had by `fit` only"):
        model.partial_fit(X, y, classes=[0, 1])


def test_several_labels_at_once_have_no_costs(coded):
    places, noise, _ = coded
    X = np.column_stack([places, noise])
    y = np.column_stack([places > 1, noise > 0]).astype(int)

    with pytest.raises(RefusedError, match="error_costs: can be had for one class"):
        quick(error_costs={0: {1: 2}}).fit(X, y)


def test_logarithms_are_those_of_the_probabilities(coded):
    places, noise, y = coded
    X = np.column_stack([places, noise])
    model = quick().fit(X, y)

    np.testing.assert_array_equal(
        model.predict_log_proba(X, budget=1), np.log(model.predict_proba(X, budget=1))
    )


def test_words_that_mean_missing_can_be_said(coded):
    pd = pytest.importorskip("pandas")
    places, _, y = coded
    X = pd.DataFrame({"area": np.array(["NA", "EU", "AS", "AF"])[places]})

    plain, told = (quick(missing_words=words).fit(X, y) for words in (None, []))

    assert "NA" not in plain.ensemble_.catalogue.features[0].categories
    assert "NA" in told.ensemble_.catalogue.features[0].categories
    assert any("cells read NA" in warning for warning in plain.warnings_)


def test_a_table_spelt_otherwise_is_refused_unless_it_is_accepted():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"job": ["clerk", "farmer"] * 30})
    y = np.arange(60) % 2
    model = quick().fit(X, y)
    other = X.assign(job=X["job"].str.upper())

    with pytest.raises(RefusedError, match=r"column job: most .*: accept_unseen=True"):
        model.predict(other)
    with pytest.warns(UserWarning, match="job: 60 rows with categories"):
        assert model.set_params(accept_unseen=True).predict(other).size == 60
    model.set_params(accept_unseen=False)
    with pytest.warns(UserWarning, match="job: 1 rows with categories"):
        assert model.predict(other[:1]).size == 1
