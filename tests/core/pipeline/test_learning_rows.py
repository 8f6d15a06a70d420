"""Rows to learn are read as the model knows them, or refused by name, all at once."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import UNSEEN
from askless.core.errors import RefusedError
from askless.core.model.model import Model
from askless.core.pipeline.online.learning_rows import (
    LEAST_WEIGHT,
    MOST_WEIGHT,
    check_learning_names,
    check_rows_to_learn,
    list_names_read,
    read_rows_to_learn,
)
from askless.core.pipeline.online.learning_state import start_learning
from askless.core.table.spec import CASE_COLUMN
from askless.core.training.params import BoostParams
from tests.baselines import mixed


def begun(**more) -> Model:
    dataset = mixed(3)
    params = BoostParams("online", rounds=4)
    model = start_learning(dataset.catalogue, dataset.classes, params)
    assert model.learning is not None
    return replace(model, learning=replace(model.learning, **more))


def words(*cells) -> np.ndarray:
    return np.array(cells, dtype=object)


ROWS = {
    "a": np.array([1.0, np.nan, 3.0]),
    "d": words("p", "z", None),
    "y": words("c0", "c1", "c0"),
}


def test_values_are_those_of_the_columns_and_missing_without():
    rows = read_rows_to_learn(ROWS, begun(), 3)

    np.testing.assert_array_equal(rows.values[:, 0], [1.0, np.nan, 3.0])
    np.testing.assert_array_equal(rows.values[:, 3], [0.0, UNSEEN, np.nan])
    assert np.isnan(rows.values[:, 1:3]).all()
    assert rows.targets.tolist() == [0, 1, 0]
    assert rows.weights.tolist() == [1.0, 1.0, 1.0]
    (warning,) = check_rows_to_learn(ROWS, begun(), 3)
    assert "d: 1 rows with categories that training did not see, as '" in warning


def test_weights_are_those_of_the_column_and_weightless_rows_go():
    model = begun(weight_column="w", weight_unit=2.0)
    weighted = ROWS | {"w": np.array([0.0, 4.0, 1.0])}

    rows, without = (read_rows_to_learn(one, model, 3) for one in (weighted, ROWS))

    assert rows.weights.tolist() == [4.0, 1.0]
    assert rows.targets.tolist() == [1, 0]
    assert without.weights.tolist() == [2.0, 2.0, 2.0]
    assert list_names_read(model)[-1] == "w"


def test_columns_that_training_ignored_are_ignored_again():
    model = begun(ignored=("id",))
    columns = [*ROWS, "id", CASE_COLUMN]

    assert check_learning_names(columns, model) == []


def test_all_that_is_wrong_is_refused_at_once_by_name():
    model = begun(weight_column="w")
    wrong = {
        "a": words("much", "1", "2"),
        "hue": words("x", "x", "x"),
        "w": np.array([-1.0, 1.0, 1.0]),
        "y": words("c0", "q", "c0"),
    }

    with pytest.raises(RefusedError) as refused:
        check_rows_to_learn(wrong, model, 3)

    fields = [refusal.field for refusal in refused.value.refusals]
    assert fields == ["column hue", "column a", "column w", "column y"]
    with pytest.raises(RefusedError, match="column a"):
        read_rows_to_learn(wrong, model, 3)


@pytest.mark.parametrize(
    ("columns", "n_rows", "line"),
    [
        ({"a": np.array([1.0])}, 1, "target: must be a column of the table"),
        ({"y": words("c0")}, 1, "table: must have a column of one feature"),
        ({"a": np.empty(0), "y": words()}, 0, "table: must have at least one row"),
        *(
            (
                {"a": np.array([1.0]), "y": words("c0"), "w": np.array([weight])},
                1,
                "column w: must be 0, or from",
            )
            for weight in (2 * MOST_WEIGHT, LEAST_WEIGHT / 2)
        ),
    ],
)
def test_what_is_no_table_to_learn_is_refused(columns, n_rows, line):
    with pytest.raises(RefusedError, match=line):
        check_rows_to_learn(columns, begun(weight_column="w"), n_rows)
