import numpy as np
import pytest

from askless.core.table.draft import MARKED, draft_column, score_column
from tests.core.table.test_check import number, text

N_ROWS = 100
TARGETS = np.arange(N_ROWS) % 2
NOISE = np.random.default_rng(0).normal(size=N_ROWS)


def draft(column, name="x", targets=TARGETS, n_classes=2):
    return draft_column(name, column, targets[: column.size], n_classes)


def words(*pattern, n_rows=N_ROWS):
    return text(*(pattern * n_rows)[:n_rows])


def numbers(**places):
    """Numbers as text, with other cells at some places."""
    cells = [f"{value:.3f}" for value in np.abs(NOISE)]
    for place, cell in places.items():
        cells[int(place[1:])] = cell
    return text(*cells)


@pytest.mark.parametrize("column", [np.abs(NOISE), numbers(r4="n/a")])
def test_numbers_stay_numbers(column):
    found = draft(column)

    assert (found.type, found.missing, found.reason) == ("number", (), "")
    assert found.notes == ()


def test_stray_words_among_numbers_are_missing_with_a_note():
    found = draft(numbers(r4="$5", r7="<1", r8="<1", r9="n/a"))

    assert (found.type, found.missing) == ("number", ("$5", "<1"))
    assert found.notes == (
        "'$5' in row 5 and 2 more cells stand among numbers, "
        "so they are taken for missing",
    )


def test_single_stray_word_is_named_alone():
    (note,) = draft(numbers(r4="$5")).notes

    assert note.startswith("'$5' in row 5 stands among numbers")


def test_words_among_few_numbers_are_categories_with_a_note():
    found = draft(words("1", "2", "3+"))

    assert found.type == "category"
    assert "numbers and words, as '3+' in row 3" in found.notes[0]


@pytest.mark.parametrize(
    ("column", "missing"),
    [
        (np.where(TARGETS & (NOISE > 0), -9.0, np.abs(NOISE)), ("-9",)),
        (np.r_[-999.0, np.abs(NOISE[1:])], ("-999",)),
        (np.r_[999.0, 999.0, np.abs(NOISE[2:])], ("999",)),
        (np.r_[999.0, np.abs(NOISE[1:])], ()),
        (np.r_[-9.0, np.abs(NOISE[1:])], ()),
        (np.r_[-999.0, NOISE[1:]], ()),
        (np.r_[99.0, 99.0, 80 * np.abs(NOISE[2:])], ()),
        (np.where(TARGETS, -9.0, -99.0), ()),
    ],
)
def test_codes_that_stand_apart_are_missing(column, missing):
    assert draft(column).missing == missing


DAYS = [f"2024-01-{day:02}" for day in range(1, 21)]
LONG = np.arange(600) % 2


@pytest.mark.parametrize(
    ("name", "column", "reason"),
    [
        ("x", number(*[None] * N_ROWS), "empty"),
        ("x", number(*[7] * N_ROWS), "constant"),
        ("x", words("a"), "constant"),
        ("x", words("x", None), MARKED),
        ("x", number(*range(500, 600)), "an identifier"),
        ("RowNr", number(*(10**6 * np.arange(100))), "an identifier"),
        ("x", number(*(10**6 * np.arange(100))), "an identifier"),
        ("x", number(*(10**6 * np.arange(100)[::-1])), ""),
        ("x", number(*(10**6 * np.r_[0, np.arange(99)])), ""),
        ("patient_id", number(*(10**6 * (np.arange(100) // 1.5 // 1))), "`group_by`"),
        ("x", text(*map("p{}".format, range(100))), "an identifier"),
        ("patient id", text(*(f"p{k // 1.5:.0f}" for k in range(100))), "`group_by`"),
        ("when", words(*DAYS), "dates"),
        ("few", text(*"abcdefghij"), ""),
    ],
)
def test_what_is_no_feature_is_ignored_with_a_reason(name, column, reason):
    found = draft(column, name).reason

    assert found == "" if reason == "" else reason in found


def test_whole_numbers_that_all_differ_are_noted_as_check_warns_of_them():
    (note,) = draft(number(*(10**6 * np.arange(100)[::-1]))).notes

    assert note == "looks like an identifier, each row has its own value"


def test_codes_that_repeat_are_categories_even_where_there_are_many():
    """No `rare` leaves 100 categories of half of the rows, but one leaves 180."""
    common = [f"{k % 42 + 1}{'ABCDEFGHI'[k % 9]}" for k in range(126)]
    common += [f"{k}K" for k in range(54)]
    cells = [*common * 6, *(f"{k}Z" for k in range(160))]

    found = draft(text(*cells), targets=np.arange(len(cells)) % 2)

    assert (found.type, found.rare, found.reason) == ("category", 5, "")


def test_rare_categories_are_joined_where_there_are_too_many():
    common = ["a", "b", "c"] * 100
    column = text(*common, *map("v{}".format, range(300)))

    found = draft(column, targets=LONG)

    assert (found.type, found.rare, found.reason) == ("category", 5, "")


def test_free_text_is_ignored():
    cells = [*map("v{}".format, range(300)), *map("v{}".format, range(300))]

    assert draft(text(*cells), targets=LONG).reason.startswith("free text")


def test_nearly_empty_column_is_noted():
    column = np.where(np.arange(N_ROWS) < 4, NOISE, np.nan)

    assert draft(column).notes == ("96 % of its values are missing",)


@pytest.mark.parametrize(
    "column",
    [
        np.where(TARGETS == 1, 5.0, 3.0),
        -TARGETS - 0.4 * (NOISE > 0),
        words("no", "yes"),
        np.where(TARGETS == 1, np.nan, 1 + np.arange(N_ROWS) % 7),
    ],
)
def test_near_copy_of_the_target_is_noted(column):
    assert "nearly all of the target" in draft(column).notes[0]


@pytest.mark.parametrize(
    ("values", "targets", "n_classes", "least", "most"),
    [
        (NOISE, TARGETS, 2, 0, 0.3),
        (TARGETS + NOISE, TARGETS, 2, 0.3, 0.9),
        (1.0 * (np.arange(N_ROWS) % 3), np.arange(N_ROWS) % 3, 3, 1, 1),
        (NOISE, np.zeros(N_ROWS, np.int64), 2, 0, 0),
        (np.full(N_ROWS, np.nan), TARGETS, 2, 0, 0),
    ],
)
def test_score_says_how_much_of_the_target_a_column_knows(
    values, targets, n_classes, least, most
):
    assert least <= score_column(values, targets, n_classes) <= most


def test_score_of_many_values_is_of_bins_and_of_some_rows():
    values = np.random.default_rng(1).normal(size=50_000)

    assert score_column(values, (np.abs(values) > 0.7).astype(np.int64), 2) > 0.9


@pytest.mark.parametrize(
    ("form", "unit", "note"),
    [
        ("£{:.2f}", "£", "has numbers with the unit £: £"),
        ("{:.2f} EUR", "EUR", "has numbers with the unit EUR: "),
        ("{:.0f}%", "%", "has numbers with the unit %: "),
        ("{:,.0f}", "", "has numbers with signs between thousands: "),
        ("${:,.2f}", "$", "has numbers with signs between thousands: "),
    ],
)
def test_numbers_as_people_write_them_are_read_with_a_note(form, unit, note):
    found = draft(text(*(form.format(5000 * abs(column)) for column in NOISE)))

    assert (found.type, found.unit, found.missing) == ("number", unit, ())
    assert (found.reason, len(found.notes)) == ("", 1)
    assert found.notes[0].startswith(note)


@pytest.mark.parametrize("form", ["{}{:.2f}", "{}{:,.2f}"])
def test_numbers_with_mixed_signs_are_no_numbers_and_said_so(form):
    cells = [form.format("£$"[k % 2], 5000 * one) for k, one in enumerate(NOISE)]

    found = draft(text(*cells))

    assert found.type == "category"
    assert found.reason.startswith("numbers with different signs")


def test_decimal_comma_among_thousands_is_not_taken_for_missing():
    found = draft(text(*(f"{k + 1},{k + 100}" for k in range(99)), "1,5"))

    assert (found.type, found.missing) == ("number", ())


CODES = np.array([33.0, 171, 8014, 9003, 9991])


@pytest.mark.parametrize(
    ("values", "is_noted"),
    [
        (CODES, True),
        (CODES - 8000, True),
        (CODES + 0.5, False),
        (np.arange(20.0), False),
        (np.arange(20.0) * 100, False),
        (np.array([0.0, 1000.0]), False),
        (CODES * 1e300, False),
    ],
)
def test_few_whole_numbers_far_apart_are_asked_about(values, is_noted):
    column = values[np.arange(N_ROWS) % values.size]

    notes = [note for note in draft(column).notes if "codes" in note]

    assert len(notes) == is_noted


def test_whole_numbers_of_few_rows_each_are_not_asked_about():
    assert draft(np.arange(25.0)[np.arange(N_ROWS) % 25] ** 2).notes == ()
