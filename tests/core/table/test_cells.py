import math
from collections import Counter

import pytest

from askless.core.catalogue.catalogue import UNSEEN, Feature
from askless.core.errors import AnswerError
from askless.core.table.answer_values import check_answer, parse_answer
from askless.core.table.cells import infer_cell_type, is_date, read_cell, tidy_cells
from askless.core.table.texts.numbers import (
    common_unit,
    is_measure,
    read_number,
    to_decimal_point,
)

GAPS = [
    "n/a",
    "NA",
    "-",
    "None",
    "#N/A",
    ".",
    "?",
    "null",
    "",
    "nan",
    "N.A.",
    "missing",
]
NUMBER = Feature("n", missing=("-999", "refused"))
CATEGORY = Feature("c", "category", categories=("a", "other"), missing=("-9",))
JOINED = Feature("c", "category", categories=("a", "other"), has_other=True)


def test_white_space_and_words_for_missing_are_taken_away():
    assert tidy_cells([" a ", "\u00a0b\t", " NA ", "  ", None]) == [
        "a",
        "b",
        *[None] * 3,
    ]


@pytest.mark.parametrize("gap", GAPS)
def test_gap_among_numbers_is_missing(gap):
    cells = tidy_cells(["1", gap, "2.5"])

    assert infer_cell_type(Counter(filter(None, cells))) == "number"
    assert [read_cell(Feature("n"), cell) for cell in cells][::2] == [1, 2.5]
    assert math.isnan(read_cell(Feature("n"), cells[1]))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2", "$5"], "number"),
        (["1", "2", "3", "<1"], "number"),
        (["1", "x", "2", "y"], "category"),
        (["-", "+", "-"], "category"),
        (["none", "none"], "category"),
        (["yes", "none"], "category"),
        (["yes", "no", "-"], "boolean"),
        (["yes", "yes"], "boolean"),
        ([None], "number"),
    ],
)
def test_most_cells_decide_the_type(cells, kind):
    assert infer_cell_type(Counter(filter(None, cells))) == kind


@pytest.mark.parametrize(
    ("feature", "cell"),
    [
        (NUMBER, "-999.0"),
        (NUMBER, "-999"),
        (NUMBER, "refused"),
        (CATEGORY, "-9"),
        (Feature("b", "boolean", missing=("9",)), "9"),
    ],
)
def test_words_and_codes_of_a_feature_are_missing(feature, cell):
    assert math.isnan(read_cell(feature, cell))


def test_stray_word_is_no_value():
    assert read_cell(NUMBER, "$5") is None


@pytest.mark.parametrize(
    ("feature", "answer"),
    [(NUMBER, -999), (CATEGORY, "-9"), (CATEGORY, "NA"), (Feature("n"), math.nan)],
)
def test_answer_that_stands_for_a_missing_value_is_refused(feature, answer):
    with pytest.raises(AnswerError):
        check_answer(feature, answer)


@pytest.mark.parametrize("text", ["-999", " refused ", "n/a", "-"])
def test_written_answer_that_stands_for_a_missing_value_is_refused(text):
    with pytest.raises(AnswerError, match="outcome is unavailable"):
        parse_answer(NUMBER, text)


@pytest.mark.parametrize("answer", ["a", " a ", "a\n"])
def test_white_space_around_an_answer_is_no_part_of_it(answer):
    assert check_answer(CATEGORY, answer) == 0


def test_category_of_an_older_model_keeps_its_white_space():
    older = Feature("c", "category", categories=(" a", " b"))

    assert [check_answer(older, one) for one in ("b", " b")] == [1, 1]


def test_unknown_category_is_other_only_where_rare_ones_were_joined():
    assert [check_answer(one, "new") for one in (JOINED, CATEGORY)] == [1, UNSEEN]


@pytest.mark.parametrize(
    ("looks", "text", "expected"),
    [
        (is_date, "2024-01-31", True),
        (is_date, "31.1.2024", True),
        (is_date, "1/2/24 10:30", True),
        (is_date, "2024", False),
        (is_date, "1-2", False),
        (is_measure, "$5", True),
        (is_measure, "<1.5 mg/dL", True),
        (is_measure, "10 %", True),
        (is_measure, "A1", False),
    ],
)
def test_dates_and_numbers_with_units_are_recognised(looks, text, expected):
    assert looks(text) is expected


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        *(("12,50", 12.5), ("63,5", 63.5), ("-0,5", -0.5), (",5", 0.5)),
        *(("1,2345", 1.2345), ("0,125", 0.125), ("1.234,50", 1234.5)),
        *(("1,234.5", 1234.5), ("-1,234,567", -1234567)),
    ],
)
def test_a_comma_that_can_mean_one_thing_is_read_so(typed, meant):
    assert parse_answer(NUMBER, typed) == meant


@pytest.mark.parametrize(
    "typed", ["12.50", "1.234", "7", "-999.5", "1e3", "words, two"]
)
def test_texts_without_a_comma_in_a_number_stay_as_typed(typed):
    assert to_decimal_point(typed) == typed


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        ("1,234", "n: may be two numbers: type 1234, as tables read it, or 1.234"),
        ("1,2.3.4", "without a sign between thousands"),
    ],
)
def test_an_ambiguous_comma_is_refused_with_what_to_type(typed, rule):
    with pytest.raises(AnswerError, match=rule):
        parse_answer(NUMBER, typed)


@pytest.mark.parametrize(
    ("cells", "unit", "numbers"),
    [
        (["£228.69", "£3"], "£", [228.69, 3]),
        (["12.30 EUR", "EUR 5"], "EUR", [12.3, 5]),
        (["$1,234.50", "-$5", "$-5"], "$", [1234.5, -5, -5]),
        (["$ - 5", "- $5", "$ (5)"], "$", [-5, -5, -5]),
        (["12%", "0 %"], "%", [12, 0]),
        (["5.1 mg/dL", "3mg/dL"], "mg/dL", [5.1, 3]),
        (["1.73 m2"], "m2", [1.73]),
    ],
)
def test_one_sign_of_all_numbers_is_their_unit(cells, unit, numbers):
    assert common_unit(cells) == unit
    assert [read_number(cell, unit) for cell in cells] == numbers


@pytest.mark.parametrize(
    "cells",
    [
        ["£5", "$5"],
        ["£5", "5"],
        ["£5 kg"],
        ["A12", "A13"],
        ["12:30", "1/2020"],
        ["2020-01-02"],
        ["£1,5", "£1,234.50"],
        ["kg"],
        [],
    ],
)
def test_mixed_signs_and_other_words_have_no_unit(cells):
    assert common_unit(cells) == ""


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("1,234", 1234),
        ("-12,345,678.25", -12345678.25),
        ("1 234", 1234),
        ("1\u00a0234", 1234),
        ("1'234", 1234),
        ("1\u2019234.50", 1234.5),
        ("12,34,567", 1234567),
        ("-1,23,456.5", -123456.5),
        ("1,5", None),
        ("0,125", None),
        ("12,34,56", None),
        ("1,234 567", None),
        ("1.234,5", None),
        ("£5", None),
    ],
)
def test_only_digits_in_threes_or_lakhs_are_thousands(cell, number):
    assert read_number(cell) == number


def test_number_with_another_sign_than_the_unit_is_none():
    fee = Feature("fee", unit="£", missing=("-9",))

    assert read_cell(fee, "$5") is None
    assert read_cell(fee, "£5") == read_cell(fee, "5") == 5
    assert math.isnan(read_cell(fee, "£-9"))


def test_answer_may_have_its_unit_but_no_doubtful_comma():
    fee = Feature("fee", unit="£")

    assert parse_answer(fee, "£12,50") == parse_answer(fee, "12.5 £") == 12.5
    for typed in ("£1,234", "$5", "££5"):
        with pytest.raises(AnswerError):
            parse_answer(fee, typed)
