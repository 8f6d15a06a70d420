"""Notes on how cells were read: an example, and what to do where it is not meant."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Feature
from askless.core.table.cells import infer_cell_type, write_cell
from askless.core.table.check import learn_type
from askless.core.table.columns import count_texts, learn_categories, read_feature
from askless.core.table.draft import draft_column
from askless.core.table.notes import (
    are_compact_dates,
    list_column_warnings,
    note_missing_words,
)
from askless.core.table.spec import TableSpec
from askless.core.table.texts.categories import match_name, unify_spellings
from askless.core.table.weights import read_row_groups
from tests.core.table.test_check import number, text

TABLE = TableSpec("y")


def notes_of(column, spec=TABLE):
    """The type that a column gets, and all notes on it, as one text."""
    feature, notes = learn_type(Feature("x"), column, spec)
    if feature.type == "category":
        feature, _ = learn_categories(feature, column)
    values, _ = read_feature(feature, column)
    return feature.type, " ".join([*notes, *list_column_warnings(feature, values)])


def many(*cells, n_rows=60):
    return text(*(cells * n_rows)[:n_rows])


@pytest.mark.parametrize(
    ("cells", "kind", "says"),
    [
        (("007", "12"), "category", "since '007' has leading zeros; if it is a number"),
        (("12E7", "77E01"), "category", "'12E7' looks like a power of ten"),
        (("9" * 18, "9" * 17 + "8"), "category", "has more digits than a number keeps"),
        ((f"{2**53 + 1}.0", f"{2**53}.0"), "category", "has more digits than a number"),
        (("1", "2.5", "3", "-inf", "inf", "+inf", "INF"), "category", "and '-inf'; if"),
        (("1", "2", "3", "FALSE", "FALSE", "FALSE"), "category", "put 'FALSE' in its"),
        (("50000", "70000", "1E5"), "number", "'1E5' is read as 100000; if these are"),
        (("2,75", "1,5"), "number", "has decimal commas: '2,75' is 2.75"),
        (("5", "7", "(5.2)"), "number", "'(5.2)' is read as -5.2"),
        (("EMPLOYED", "employed"), "category", "differ by case, spaces or .0 alone"),
        (
            ("1", "1.0", "1.5", "x", "y", "z"),
            "category",
            "'1' and '1.0' differ by case",
        ),
        (("Jun 12 1998", "Jul 1 1999"), "category", "as 'Jul 1 1999'; these are dates"),
        (("20181014", "20191231"), "number", "looks like dates, as 20181014"),
        (("10142018", "12312019"), "number", "looks like dates, as 10142018"),
        (("NA", "EU", "AS"), "category", "20 cells read NA, which means missing"),
    ],
)
def test_what_may_be_meant_otherwise_is_noted_with_an_example(cells, kind, says):
    actual, notes = notes_of(many(*cells))

    assert actual == kind
    assert says in notes


@pytest.mark.parametrize(
    "cells",
    [
        ("red", "blue"),
        ("1.5", "2"),
        ("yes", "no"),
        ("1", "1.0", "2"),
        ("37F", "21B"),
        ("1", "red", "blue"),
        ("20181014", "20189999"),
    ],
)
def test_what_can_mean_nothing_else_has_no_note(cells):
    assert notes_of(many(*cells))[1] == ""


def test_a_category_whose_cells_all_differ_is_noted():
    cells = [f"[{k / 7:.3f}]" for k in range(58)]

    assert (
        "'[0.000]', which says nothing of a new one"
        in notes_of(text(*cells, *cells[:2]))[1]
    )
    assert notes_of(many("[0.1]", "[0.2]", "[0.3]"))[1] == ""


def test_numbers_beyond_doubles_are_noted_where_the_spec_says_number():
    values = np.array([900000000000207008.0, 1.0, 2.0])

    (note,) = list_column_warnings(Feature("x"), values)

    assert note.startswith("x: has numbers beyond 2^53, as 900000000000206976 in row 1")
    assert list_column_warnings(Feature("x"), np.array([1e300, 1.0])) == []


def test_declared_texts_are_no_numbers_and_the_note_says_so():
    declared = TableSpec("y", declared=frozenset({"x"}))

    kind, notes = notes_of(many("7.1", "8"), declared)
    assert kind == "category"
    assert "'7.1' is a text in its table" in notes
    assert notes_of(number(1, 2, 1, 2), declared)[0] == "category"
    assert notes_of(many("7.1", "8"))[0] == "number"


def test_a_spec_says_which_words_mean_missing_and_no_others():
    some = TableSpec("y", missing_words=("n.d.",))
    none = TableSpec("y", missing_words=())
    column = many("NA", "EU", "n.d.", "-")

    def categories(spec):
        feature, _ = learn_type(Feature("x"), column, spec)
        return learn_categories(feature, column)[0].categories

    assert categories(TABLE) == ("-", "EU", "n.d.")
    assert categories(some) == ("-", "EU", "NA")
    assert categories(none) == ("-", "EU", "NA", "n.d.")


def test_words_of_a_feature_go_before_those_of_the_table():
    spec = TableSpec("y", missing_words=("n.d.",))
    feature, _ = learn_type(Feature("x", missing_words=("NA",)), many("NA"), spec)

    assert feature.missing_words == ("NA",)


def test_gap_words_among_numbers_are_words_where_the_spec_says_others():
    spec = TableSpec("y", missing_words=("?",))
    feature, _ = learn_type(Feature("x"), many("1", "2", "?"), spec)

    _, refusals = read_feature(feature, text("1", "-", "NA"))

    assert feature.type == "number"
    assert "found '-' in row 2, 'NA' in row 3" in str(refusals[0])


def test_a_rare_missing_word_has_no_note():
    column = text("NA", *["a"] * 99)

    assert note_missing_words(count_texts(column), column.size, ("NA",)) == []
    assert note_missing_words(count_texts(number(1, None)), 2, ("NA",)) == []


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (("1", "1.0", "2.00", "x"), {"1", "2", "x"}),
        (("250", "250.0", "250.1"), {"250", "250.0", "250.1"}),
        (("1.0", "1.5"), {"1", "1.5"}),
        (("007", "7.0"), {"007", "7"}),
        (("True", "true", "no"), {"true", "no"}),
        (("True", "False", "1", "1.0"), {"True", "False", "1"}),
    ],
)
def test_whole_numbers_are_one_category_unless_they_may_be_codes(texts, names):
    assert set(unify_spellings(texts).values()) == names


@pytest.mark.parametrize(
    ("names", "name", "place"),
    [
        (("1", "2"), "2.0", 1),
        (("1.0", "2.0"), "2", 1),
        (("250", "250.1"), "250.10", None),
        (("0.50", "1.25"), "0.5", 0),
        (("0.50", "1.2"), "0.5", None),
        (("007", "8"), "7", None),
        ((" a", "b"), "a", 0),
        (("False", "True"), "true", 1),
        (("True", "true"), "TRUE", None),
        (("2,75", "3"), "2.75", 0),
    ],
)
def test_a_text_stands_for_the_one_category_it_can_mean(names, name, place):
    assert match_name(names, name) == place


def test_decimal_commas_of_training_hold_for_later_cells():
    feature, _ = learn_type(Feature("x"), text("2,75", "1,5"), TABLE)

    assert feature.decimal_comma
    assert read_feature(feature, text("1,234"))[0].tolist() == [1.234]
    assert read_feature(Feature("x"), text("1,234"))[0].tolist() == [1234.0]


def test_days_of_eight_digits_need_a_month_and_a_day():
    assert are_compact_dates(np.array([20181014.0, np.nan, 20190131.0]))
    assert not are_compact_dates(np.array([20181514.0, 20190131.0]))
    assert not are_compact_dates(np.array([1.5, 2.5]))
    assert not are_compact_dates(np.array([7.0, 8.0]))


def test_no_cells_are_numbers_unless_they_are_declared():
    assert infer_cell_type({}) == "number"


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, None),
        (float("nan"), None),
        (True, "true"),
        (np.False_, "false"),
        (1.0, "1"),
        (2**60 + 1, str(2**60 + 1)),
        (1e24, "999999999999999983222784"),
        (-1e300, "-1e+300"),
        (b"x", "x"),
        (Decimal("1.00"), "1"),
        (Decimal("1.50"), "1.50"),
        (datetime.date(2020, 1, 2), "2020-01-02"),
        (np.datetime64("2020-01-02T00:00:00"), "2020-01-02"),
        (np.datetime64("2020-01-02T03:04"), "2020-01-02T03:04"),
        (" x", " x"),
    ],
)
def test_a_value_of_any_library_has_one_text(value, cell):
    assert write_cell(value) == cell


def test_a_draft_keeps_declared_categories_and_takes_infinities_for_missing():
    targets = np.arange(40) % 2
    numbers = np.where(targets, np.inf, np.arange(40.0))
    few = np.arange(40.0) % 4

    by_type = draft_column("x", few, targets, 2, is_declared=True)
    infinite = draft_column("x", numbers, targets, 2)

    assert by_type.type == "category"
    assert (infinite.type, infinite.missing) == ("number", ("inf",))
    assert "inf is taken for missing" in infinite.notes


def test_row_groups_are_the_same_however_they_are_written():
    spec = TableSpec("y", group_by="g", missing_words=())
    columns = {"g": text("1", "1.0", "2", "NA")}

    groups, refusals = read_row_groups(columns, spec)

    assert refusals == []
    assert groups.tolist() == [0, 0, 1, 2]
