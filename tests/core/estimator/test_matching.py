"""Columns of a table are matched by name, in the model's order."""

import pytest

from askless.core.errors import RefusedError
from askless.core.estimator.matching import match_names

NAMES = ["age", "sex", " weight "]


def test_columns_stand_in_the_models_order():
    matched = match_names({"sex": 1, "age": 2}, NAMES)

    assert list(matched.items()) == [("age", 2), ("sex", 1)]


def test_white_space_around_a_known_name_does_not_matter():
    assert match_names({"weight": 1}, NAMES) == {"weight": 1}


def test_unknown_column_is_refused_with_the_nearest_name():
    with pytest.raises(RefusedError) as refused:
        match_names({"Age": 1, "sex": 2}, NAMES)

    (refusal,) = refused.value.refusals
    assert refusal.field == "column Age"
    assert "age" in refusal.rule


def test_many_unknown_columns_are_counted():
    with pytest.raises(RefusedError) as refused:
        match_names({f"x{number}": 0 for number in range(8)}, NAMES)

    assert len(refused.value.refusals) == 6
    assert refused.value.refusals[-1].rule == "and 3 more columns of other names"
