import numpy as np
import pytest

from askless.core.catalogue.catalogue import Feature
from askless.core.errors import nearest_hint
from askless.core.table.columns import read_feature, to_text_cells
from askless.core.table.notes import list_column_warnings
from tests.core.table.test_check import text


def test_each_word_is_held_once_and_every_row_has_its_own():
    cells = to_text_cells(np.array(["b", None, " b", "a", "NA"], np.object_))

    assert list(cells) == ["b", None, "b", "a", None]
    assert list(cells[1:3]) == [None, "b"]
    assert cells.present == {"b": 2, "a": 1}
    assert cells.is_missing.tolist() == [False, True, False, False, True]


def test_minus_zero_is_zero():
    assert list(to_text_cells(np.array([0.0, -0.0, 1.5, np.nan]))) == [
        "0",
        "0",
        "1.5",
        None,
    ]


@pytest.mark.parametrize(
    ("values", "is_warned"),
    [
        (np.arange(30.0), True),
        (np.arange(30.0)[::-1] * 7, True),
        (np.arange(30.0) % 29, False),
        (np.arange(30.0) // 2 * 3, False),
        (np.arange(30.0) + 0.5, False),
    ],
)
def test_whole_numbers_of_which_none_stands_twice_look_like_an_identifier(
    values, is_warned
):
    warnings = list_column_warnings(Feature("id"), values)

    assert ["looks like an identifier" in warning for warning in warnings] == [
        True
    ] * is_warned


@pytest.mark.parametrize(
    ("word", "hint"),
    [("Age", "; the nearest is 'AGE'"), ("agge ", "; the nearest is 'AGE'"), ("x", "")],
)
def test_nearest_name_is_named_whatever_its_case(word, hint):
    assert nearest_hint(word, ["AGE", "outcome"]) == hint


def test_cells_with_their_unit_are_numbers():
    fee = Feature("fee", unit="£")

    values, refusals = read_feature(fee, text("£1,234.50", None, "£5"))

    assert np.array_equal(values, [1234.5, np.nan, 5], equal_nan=True)
    assert refusals == []


@pytest.mark.parametrize(
    ("unit", "cells", "told"),
    [
        ("£", ("£5", "$6", "£7"), "must be a number, or empty; found '$6' in row 2"),
        ("£", ("£5", "6", "£7"), "the unit £, or all without it; found '6' in row 2"),
        ("£", ("5", "£6", "7"), "the unit £, or all without it; found '£6' in row 2"),
        (None, ("£5",), "must be a number, or empty; found '£5' in row 1"),
        (
            None,
            ("1,234", "1,5", "9.5"),
            "a comma must part thousands, as in 1,234; found '1,5' in row 2",
        ),
    ],
)
def test_mixed_signs_and_doubtful_commas_are_refused(unit, cells, told):
    _, (refusal,) = read_feature(Feature("fee", unit=unit), text(*cells))

    assert str(refusal).startswith("column fee: must be")
    assert str(refusal).endswith(told)
