"""Columns that an encoder makes of a feature are bought together."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from askless.core.errors import RefusedError
from askless.core.estimator.classifier import BudgetedBoostingClassifier
from askless.core.estimator.one_hot import one_hot_groups


def test_columns_of_a_feature_become_one_bundle():
    names = ["age", "job_cook", "job_smith", "sex_f"]

    groups = one_hot_groups(names, {"job": 3, "sex": 1, "age": 0.5})

    assert groups == [
        {"name": "job", "members": ["job_*"], "price": 3},
        {"name": "sex", "members": ["sex_f"], "price": 1},
        {"name": "age", "members": ["age"], "price": 0.5},
    ]


def test_the_longest_name_that_fits_has_the_column():
    names = ["cat__job_cook", "cat__job_title_a", "cat__job_title_b"]

    groups = one_hot_groups(names, {"job": 3, "job_title": 1})

    assert [group["members"] for group in groups] == [
        ["cat__job_cook"],
        ["cat__job_title_*"],
    ]


def test_a_pattern_takes_no_column_of_another_feature():
    names = ["job_a", "job_b", "job_title_a"]

    groups = one_hot_groups(names, {"job": 3, "job_title": 1})

    assert groups[0]["members"] == ["job_a", "job_b"]


def test_categories_with_underscores_stay_together():
    names = ["job_head_cook", "job_head_smith", "job_none"]

    assert one_hot_groups(names, {"job": 1})[0]["members"] == ["job_*"]


def test_a_price_without_a_column_is_refused():
    with pytest.raises(RefusedError) as caught:
        one_hot_groups(["job_cook"], {"jobs": 1, "age": 2})

    fields = [refusal.field for refusal in caught.value.refusals]
    assert fields == ["prices[jobs]", "prices[age]"]


def test_a_pipeline_pays_for_a_feature_once():
    """Whatever number of its columns is read."""
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 3, size=(90, 2))
    X = np.array(["a", "b", "c"], dtype=object)[codes]
    y = (codes[:, 0] == 1) | (codes[:, 1] == 2)
    encoder = ColumnTransformer([("cat", OneHotEncoder(sparse_output=False), [0, 1])])
    names = encoder.fit(X).get_feature_names_out()
    groups = one_hot_groups(names, {"x0": 5, "x1": 7})
    encoder.set_output(transform="polars")
    model = BudgetedBoostingClassifier(
        "adaboost_bt_smoothed", rounds=30, folds=0, groups=groups
    )

    pipeline = make_pipeline(encoder, model).fit(X, y)

    assert pipeline.score(X, y) > 0.9
    assert set(model.spend(encoder.transform(X)).tolist()) <= {5.0, 7.0, 12.0}
