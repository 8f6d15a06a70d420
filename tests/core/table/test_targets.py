"""Rows without a target: refused, or dropped as if they were not there."""

import math

import numpy as np
import pytest

from askless.core.errors import RefusedError
from askless.core.pipeline.check import check_training
from askless.core.pipeline.spec import TrainingSpec
from askless.core.table.spec import TableSpec
from askless.core.table.targets import blank_dropped_rows


def text(*cells):
    return np.array(cells, np.object_)


def number(*cells):
    return np.array(cells, np.float64)


COLUMNS = {
    "a": text("1", "2", "x", "4", "5"),
    "c": text("u", "v", "w", "u", "v"),
    "g": text("p", "p", None, "q", "r"),
    "w": number(1, 2, math.nan, 3, 0),
    "y": text("n", "y", None, "y", "n"),
}


def check(columns, **spec):
    return check_training(columns, TrainingSpec(TableSpec("y", **spec)))


def test_rows_without_a_target_are_refused_with_the_setting():
    with pytest.raises(RefusedError, match=r'or say "missing_target": "drop"; found'):
        check(COLUMNS, ignore=("a", "g", "w"))


@pytest.mark.parametrize("weights", [COLUMNS["w"], text("1", "2", None, "3", "0")])
def test_dropped_rows_say_nothing(weights):
    columns = {**COLUMNS, "w": weights}

    found = check(columns, missing_target="drop", weight="w", group_by="g")

    dataset = found.dataset
    assert "left out 1 row without a target" in found.warnings
    assert "left out 1 rows of weight 0" in found.warnings
    assert dataset.values[:, 0].tolist() == [1, 2, 4]
    assert dataset.weights == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert len(set(dataset.row_group_idxs.tolist())) == 2
    assert [feature.type for feature in dataset.catalogue.features] == [
        "number",
        "category",
    ]
    assert dataset.catalogue.features[1].categories == ("u", "v")


def test_rows_keep_their_numbers_where_others_are_dropped():
    columns = {**COLUMNS, "a": text("1", "2", "x", "odd", "5")}

    with pytest.raises(RefusedError) as caught:
        check(columns, missing_target="drop", ignore=("c", "g", "w"))

    assert [refusal.rows for refusal in caught.value.refusals] == ["row 4"]


def test_nothing_is_said_where_no_row_lacks_a_target():
    whole = {"a": number(1, 2, 3, 1), "y": text("n", "y", "n", "y")}

    found = check(whole, missing_target="drop")

    assert found.warnings == ()
    assert found.dataset.n_samples == 4


def test_rows_to_drop_say_nothing_once_a_column_is_asked_for():
    spec = TableSpec("y", weight="w", group_by="g", missing_target="drop")

    blanked, is_kept = blank_dropped_rows(COLUMNS, spec, 5)

    assert is_kept.tolist() == [True, True, False, True, True]
    assert (list(blanked), len(blanked), "a" in blanked) == (list(COLUMNS), 5, True)
    assert "b" not in blanked
    assert blanked["a"].tolist() == ["1", "2", None, "4", "5"]
    assert blanked["g"].tolist() == ["p", "p", "0", "q", "r"]
    assert blanked["w"].tolist() == [1, 2, 0, 3, 0]
