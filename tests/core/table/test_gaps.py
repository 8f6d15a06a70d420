"""Missing cells: which count as information, what fills the others, what is said."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.table.gaps import fill_gaps, list_informative_features, note_gaps
from tests.small import random_dataset, table_of

NAN = math.nan


def gappy(*n_missing, sizes=(40, 20), **fields):
    """One number of two values, missing in so many rows of each class."""
    targets = np.repeat(np.arange(len(sizes)), sizes)
    column = np.arange(targets.size) % 2.0
    for position, n in enumerate(n_missing):
        column[np.flatnonzero(targets == position)[:n]] = NAN
    return replace(table_of([column], targets, n_classes=len(sizes)), **fields)


def is_informative(dataset, least_missing=20):
    (found,) = list_informative_features(dataset, least_missing).tolist()
    return found


def naive_informative(dataset, least):
    """The rule in plain Python, feature by feature and row by row."""
    found = []
    everyone = [row for row, weight in enumerate(dataset.weights) if weight > 0]
    groups = dataset.row_group_idxs
    for column in dataset.values.T:
        missing = [row for row in everyone if math.isnan(column[row])]
        is_told = len({groups[row] for row in missing}) >= least
        for position in range(len(dataset.classes)):
            its = [row for row in missing if dataset.targets[row] == position]
            sums = [
                math.fsum(dataset.weights[row] for row in rows)
                for rows in (
                    its,
                    missing,
                    [row for row in everyone if dataset.targets[row] == position],
                    everyone,
                )
            ]
            speaks = sums[0] * sums[3] > sums[2] * sums[1] * (1 + 1e-9)
            n_cases = len({groups[row] for row in its})
            own = [row for row in everyone if dataset.targets[row] == position]
            judges = len({groups[row] for row in own}) >= least
            is_told &= not speaks or not judges or n_cases >= least / 4
        found.append(bool(missing) and is_told)
    return found


def naive_filler(present, is_number):
    """The lower median or the most frequent of (value, weight) pairs."""
    sums = {}
    for value, weight in sorted(present):
        sums[value] = sums.get(value, 0.0) + weight
    if not is_number:
        return max(sums, key=lambda value: (round(sums[value], 9), -value))
    half, before = sum(sums.values()) / 2, 0.0
    for value, weight in sums.items():
        before += weight
        if before >= half - 1e-9:
            return value
    raise AssertionError("some value reaches the half")


@pytest.mark.parametrize(
    ("n_missing", "expected"),
    [
        ((15, 5), True),
        ((14, 5), False),
        ((20, 0), True),
        ((19, 0), False),
        ((0, 20), True),
        ((0, 0), False),
    ],
)
def test_missing_is_information_from_so_many_rows_on(n_missing, expected):
    assert is_informative(gappy(*n_missing)) == expected


@pytest.mark.parametrize(("n_missing", "expected"), [((16, 4), False), ((15, 5), True)])
def test_class_that_is_spoken_for_needs_a_quarter_as_many(n_missing, expected):
    assert is_informative(gappy(*n_missing, sizes=(300, 20))) == expected


@pytest.mark.parametrize(("n_rows", "expected"), [(1, True), (19, True), (20, False)])
def test_a_tiny_class_does_not_judge(n_rows, expected):
    assert is_informative(gappy(20, 0, 1, sizes=(400, 200, n_rows))) == expected


def test_class_that_is_not_spoken_for_needs_none():
    assert is_informative(gappy(25, 1, sizes=(100, 100)))


@pytest.mark.parametrize(("least", "expected"), [(4, True), (5, False)])
def test_how_many_rows_it_takes_can_be_said(least, expected):
    assert is_informative(gappy(3, 1), least) == expected


def test_a_quarter_is_not_rounded_down():
    dataset = gappy(20, 1, sizes=(200, 5))

    assert is_informative(dataset, 4)
    assert not is_informative(dataset, 5)


def test_rows_of_one_row_group_count_once():
    dataset = gappy(20, 20, sizes=(40, 40))

    assert is_informative(dataset)
    assert not is_informative(replace(dataset, row_groups=np.arange(80) // 3))


def test_rows_without_weight_do_not_count():
    dataset = gappy(20, 20, sizes=(40, 40))
    weights = np.where(np.arange(80) % 40 < 11, 0.0, 1.0)

    assert is_informative(replace(dataset, weights=np.where(weights, 1 / 58, 0.0)), 18)
    assert not is_informative(replace(dataset, weights=weights / 58), 19)


def test_shares_of_classes_are_those_of_weights():
    dataset = gappy(20, 4, sizes=(100, 20))
    is_missing = np.isnan(dataset.values[:, 0])
    weights = np.where(is_missing & (dataset.targets == 1), 2.0, 1.0)

    # A sixth of the rows that are missing and of all is of the second class.
    assert is_informative(dataset)
    assert not is_informative(replace(dataset, weights=weights / weights.sum()))


def random_table(seed, n_classes, grouped):
    dataset = random_dataset(seed, n_classes, 40, 5, n_values=4, share_missing=0.3)
    random = np.random.default_rng(seed)
    groups = random.integers(0, 25, 40) if grouped else None
    return replace(dataset, row_groups=groups)


@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(2, 5),
    grouped=st.booleans(),
    least=st.integers(1, 16),
)
def test_informative_features_are_those_of_the_naive_twin(
    seed, n_classes, grouped, least
):
    dataset = random_table(seed, n_classes, grouped)

    found = list_informative_features(dataset, least)

    assert found.tolist() == naive_informative(dataset, least)


@given(seed=st.integers(0, 10_000), least=st.integers(1, 16))
def test_order_of_rows_changes_nothing(seed, least):
    dataset = random_table(seed, 3, grouped=False)
    order = np.random.default_rng(seed).permutation(40)

    found = list_informative_features(dataset, least)
    filled = fill_gaps(dataset, found).values

    mixed = dataset.take(order)
    np.testing.assert_array_equal(list_informative_features(mixed, least), found)
    np.testing.assert_array_equal(fill_gaps(mixed, found).values, filled[order])


@given(seed=st.integers(0, 10_000), least=st.integers(1, 12))
def test_gaps_are_filled_as_by_the_naive_twin(seed, least):
    dataset = random_table(seed, 3, grouped=False)
    informative = list_informative_features(dataset, least)
    before = dataset.values.copy()

    filled = fill_gaps(dataset, informative)

    expected = before.copy()
    for idx, feature in enumerate(dataset.catalogue.features):
        is_missing = np.isnan(before[:, idx])
        present = zip(before[~is_missing, idx], dataset.weights[~is_missing], strict=1)
        if is_missing.any() and not informative[idx]:
            filler = naive_filler([*present], feature.type == "number")
            expected[is_missing, idx] = filler
    np.testing.assert_array_equal(filled.values, expected)
    np.testing.assert_array_equal(dataset.values, before)
    assert filled.values.flags.c_contiguous


@pytest.mark.parametrize(
    ("kind", "column", "filler"),
    [
        ("number", [1, 2, 3, 4, NAN], 2),
        ("number", [9, 1, NAN, 5], 5),
        ("number", [NAN, -2.5, NAN], -2.5),
        ("boolean", [0, 1, NAN, 1, 0], 0),
        ("boolean", [0, 1, NAN, 1, 1], 1),
        ("category", [2, 1, 1, 2, 0, NAN], 1),
    ],
)
def test_gap_is_filled_with_a_value_that_exists(kind, column, filler):
    dataset = table_of([column], types=[kind])

    filled = fill_gaps(dataset, np.array([False])).values[:, 0]

    expected = np.where(np.isnan(column), filler, column)
    np.testing.assert_array_equal(filled, expected)


@pytest.mark.parametrize("kind", ["number", "category"])
def test_weights_count_in_what_fills(kind):
    dataset = table_of([[1, 2, 7, NAN]], types=[kind], weights=[0.1, 0.1, 0.7, 0.1])

    assert fill_gaps(dataset, np.array([False])).values[3, 0] == 7


def test_column_without_a_value_stays_as_it_is():
    dataset = table_of([[NAN] * 4, [1.0, 2.0, NAN, 1.0]])

    filled = fill_gaps(dataset, np.array([False, False])).values

    assert np.isnan(filled[:, 0]).all()
    assert filled[:, 1].tolist() == [1, 2, 1, 1]


def test_what_counts_as_information_stays_missing():
    dataset = table_of([[1.0, NAN], [1.0, NAN]])

    filled = fill_gaps(dataset, np.array([True, False])).values

    np.testing.assert_array_equal(filled, [[1, 1], [NAN, 1]])


@pytest.mark.parametrize("columns", [[[1.0, 2.0]], [[1.0, NAN]]])
def test_table_with_nothing_to_fill_is_the_same_one(columns):
    dataset = table_of(columns)

    assert fill_gaps(dataset, np.array([True])) is dataset


def named(columns, targets, **fields):
    catalogue = Catalogue(tuple(Feature(name) for name in columns))
    dataset = table_of([*columns.values()], targets, catalogue, fields.pop("n", 2))
    return replace(dataset, **fields)


def column_of(n_rows, missing):
    column = np.arange(n_rows) % 3.0
    column[list(missing)] = NAN
    return column


TARGETS = np.arange(60) % 2
NOTES = {
    "": {"a": []},
    "Missing values count as information in a, c.": {
        **{"a": range(20), "b": [], "c": range(40)}
    },
    "Missing values say nothing in a (1 of 60 rows), b (19 of 60 rows).": {
        **{"a": [0], "b": range(19)}
    },
    "Missing values count as information in b; in a (2 of 60 rows) they say nothing.": {
        **{"a": [5, 6], "b": range(30), "empty": range(60)}
    },
}


@pytest.mark.parametrize(("note", "missing"), NOTES.items())
def test_note_names_the_features_that_count_and_those_that_do_not(note, missing):
    columns = {name: column_of(60, rows) for name, rows in missing.items()}

    assert note_gaps(named(columns, TARGETS), 20) == note


def test_note_says_what_there_is_too_little_of():
    targets = (np.arange(300) < 24).astype(np.int64)
    columns = {"a": column_of(300, range(21, 48))}
    dataset = named(columns, targets)
    grouped = replace(dataset, row_groups=np.arange(300) // 20)

    assert "a (27 of 300 rows, 3 of class class 1)." in note_gaps(dataset, 20)
    assert "a (27 of 300 rows, of 2 groups)." in note_gaps(grouped, 20)


def test_note_of_many_features_names_some():
    columns = {f"f{idx}": column_of(60, [0]) for idx in range(11)}

    note = note_gaps(named(columns, TARGETS), 20)

    assert note.endswith("f7 (1 of 60 rows) and 3 more.")
