import math
import sys
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core import kernels
from askless.core.codes.binning import (
    bin_values,
    code_columns,
    encode_rows,
)
from askless.core.codes.cuts import MAX_CODES, compute_thresholds
from askless.core.kernels import CHUNK, FEW, MISSING
from tests import naive
from tests.small import table_of
from tests.strategies import datasets
from tests.twins import rows_of

TINY = 5e-324
HUGE = sys.float_info.max
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("present", "thresholds"),
    [
        ([], []),
        ([3.0], []),
        ([3.0, 3.0, 3.0], []),
        ([-0.0, 0.0], []),
        ([1.0, 3.0, 2.0, 1.0], [1.5, 2.5]),
        ([0.0, TINY], [0.0]),
        ([-TINY, 0.0], [-TINY]),
        ([-TINY, TINY], [0.0]),
        ([TINY, 2 * TINY], [TINY]),
        ([3 * TINY, 4 * TINY], [3 * TINY]),
        ([1.0, math.nextafter(1, 2)], [1.0]),
        ([-HUGE, HUGE], [0.0]),
        ([math.nextafter(HUGE, 0), HUGE], [math.nextafter(HUGE, 0)]),
        ([1e308, 1.5e308], [1.25e308]),
        ([-1e308, 0.0, 1e308], [-5e307, 5e307]),
    ],
)
def test_thresholds_of_ugly_values(present, thresholds):
    actual = compute_thresholds(np.sort(np.array(present)), None)

    assert actual.tolist() == thresholds


@given(st.lists(FINITE, max_size=12), st.booleans())
def test_threshold_lies_between_neighbours_or_on_the_lower_of_adjacent_doubles(
    present, is_weighted
):
    weights = np.arange(1.0, len(present) + 1) if is_weighted else None

    thresholds = compute_thresholds(np.sort(np.array(present)), weights)

    pairs = list(pairwise(sorted(set(present))))
    assert len(thresholds) == len(pairs)
    for cut, (low, high) in zip(thresholds.tolist(), pairs, strict=True):
        is_adjacent = math.nextafter(low, math.inf) == high
        assert cut == low if is_adjacent else low < cut < high


@given(datasets())
def test_few_values_are_coded_as_the_naive_ranks(dataset):
    binned = bin_values(dataset)

    rows = rows_of(dataset.values)
    for idx, feature in enumerate(dataset.catalogue.features):
        codes, cuts = naive.codes(naive.column(rows, idx), feature.type == "category")
        expected = [MISSING if code is None else code for code in codes]
        assert binned.codes[idx].tolist() == expected
        assert binned.cuts[idx].tolist() == cuts


@given(datasets())
def test_cuts_that_were_found_code_rows_as_where_they_were_found(dataset):
    binned = bin_values(dataset)

    codes = encode_rows(dataset.values, binned.cuts)

    assert codes.tolist() == binned.codes.tolist()


@given(datasets(), st.data())
def test_codes_of_rows_are_laid_in_the_lanes_of_the_table(dataset, data):
    idxs = st.sets(st.integers(0, dataset.values.shape[1] - 1))
    kept = np.array(sorted(data.draw(idxs)), dtype=np.int64)
    whole = bin_values(dataset)
    codes = whole.codes.copy()

    for binned in (whole, whole.keep(kept)):
        laid = binned.without_rows().with_codes(codes)

        assert laid.codes.tolist() == binned.codes.tolist()
        assert laid.packing.codes.tolist() == binned.packing.codes.tolist()
    assert codes.tolist() == whole.codes.tolist()


@given(datasets())
def test_every_code_occurs_and_missing_cells_are_marked(dataset):
    binned = bin_values(dataset)

    for codes, n_codes, has_missing in zip(
        binned.codes, binned.n_codes, binned.has_missing, strict=True
    ):
        assert set(codes[codes != MISSING].tolist()) == set(range(n_codes))
        assert has_missing == (codes == MISSING).any()


def test_254_distinct_values_are_kept_exactly():
    values = np.arange(MAX_CODES, dtype=np.float64)[::-1]

    binned = bin_values(table_of([values, np.roll(values, 3)]))

    assert binned.n_codes.tolist() == [MAX_CODES, MAX_CODES]
    assert binned.codes[0].tolist() == values.tolist()


@pytest.mark.parametrize("n_values", [255, 256, 1000])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_more_values_are_cut_into_at_most_254_codes_that_all_occur(
    n_values, is_weighted
):
    values = np.sqrt(np.arange(n_values, dtype=np.float64))
    weights = np.arange(1.0, n_values + 1) if is_weighted else np.ones(n_values)

    binned = bin_values(table_of([values], weights=weights / weights.sum()))

    n_codes = binned.n_codes[0]
    assert 150 < n_codes <= MAX_CODES
    assert np.unique(binned.codes[0]).tolist() == list(range(n_codes))


@pytest.mark.parametrize("is_ascending", [True, False])
def test_codes_of_many_values_hold_about_equal_weight(is_ascending):
    weights = np.linspace(1, 3, 2000)
    weights /= weights.sum()
    values = np.arange(2000.0) if is_ascending else np.arange(2000.0)[::-1]

    binned = bin_values(table_of([values], weights=weights))

    shares = np.bincount(binned.codes[0], weights)
    assert shares.max() < 1.5 / MAX_CODES


def test_codes_of_many_values_keep_their_order():
    values = np.cos(np.arange(700.0))

    codes = bin_values(table_of([values])).codes[0]

    assert (np.diff(codes[np.argsort(values)].astype(int)) >= 0).all()


def test_heavy_lowest_value_keeps_a_cut():
    values = np.concatenate((np.zeros(99_700), np.arange(1.0, 301)))

    thresholds = compute_thresholds(values, None)

    assert thresholds[0] == 0.5


def test_heavy_highest_value_keeps_a_cut():
    values = np.concatenate((np.arange(1.0, 301), np.full(99_700, 1000.0)))

    thresholds = compute_thresholds(values, None)

    assert thresholds.size > 0


def test_cuts_of_many_values_take_little_more_than_a_flag_per_row():
    values = np.arange(200_000.0)

    tracemalloc.start()
    compute_thresholds(values, None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 2 * values.size


def test_constant_feature_has_one_code_and_an_empty_one_none():
    binned = bin_values(table_of([[5.0, 5.0], [np.nan, np.nan], [np.nan, 2.0]]))

    assert binned.n_codes.tolist() == [1, 0, 1]


def test_categories_that_do_not_occur_get_no_code():
    binned = bin_values(table_of([[4.0, 1.0, np.nan, 4.0]], types=["category"]))

    assert binned.cuts[0].tolist() == [1.0, 4.0]
    assert binned.codes[0].tolist() == [1, 0, MISSING, 1]


def test_table_without_features_has_no_codes():
    bare = table_of([], [0, 1])

    assert bin_values(bare).codes.shape == (0, 2)


N_UGLY = CHUNK + 70


def ugly_columns(n_samples):
    """Columns of every kind, some of whose values turn up late or only once."""
    rows = np.arange(n_samples, dtype=np.float64)
    late, later = rows >= n_samples - 1, rows >= n_samples - 2
    rolled = np.roll(np.where(rows < FEW, rows, 0.0), 1 - FEW)
    return {
        "boolean": rows % 3 == 1,
        "missing": np.where(rows % 4 == 2, np.nan, rows % 2),
        "constant": np.full(n_samples, -0.0),
        "empty": np.full(n_samples, np.nan),
        "zeros": np.where(rows % 2 == 0, -0.0, 0.0),
        "tiny": np.where(rows % 3 == 0, -0.0, TINY * (rows % 3)),
        "huge": np.where(rows % 3 == 0, -HUGE, HUGE * (rows % 3 - 1)),
        "neighbours": np.where(rows % 2 == 0, 1.0, math.nextafter(1, 2)),
        "sixteen": rows % FEW,
        "seventeen": -(rows % (FEW + 1)),
        "late": np.where(late, 0.5, rows % 2),
        "late and missing": np.where(late, -1.0, np.where(later, np.nan, rows % 2)),
        "lone": np.where(late, 1.0, np.nan),
        "too many late": np.where(later, 20.0 + rows, rolled),
        "many late": np.where(rows % 5 == 0, 0.0, rows),
        "254": rows % MAX_CODES,
        "heavy": np.where(rows % 50 == 0, rows, 7.0),
        "many": np.cos(rows),
        "many, missing": np.where(rows % 9 == 0, np.nan, np.sin(rows)),
    }


def expect(column, weights, is_category):
    """Codes and cuts of a column, by sorting."""
    order = np.argsort(column)[: np.count_nonzero(~np.isnan(column))]
    if is_category:
        cuts = np.unique(column[order])
    else:
        cuts = compute_thresholds(column[order], weights[order])
    codes = [int((cuts < value).sum()) for value in column]
    is_missing = np.isnan(column)
    return np.where(is_missing, MISSING, codes).tolist(), cuts.tolist(), is_missing


@pytest.mark.parametrize("n_samples", [1, 2, 20, 300, N_UGLY])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_few_and_many_values_of_one_table_are_coded_as_by_sorting(
    n_samples, is_weighted
):
    weights = np.ones(n_samples) + is_weighted * (np.arange(n_samples) % 3)
    columns = ugly_columns(n_samples)

    binned = bin_values(table_of(list(columns.values()), weights=weights))

    for idx, (name, column) in enumerate(columns.items()):
        codes, cuts, is_missing = expect(np.float64(column), weights, False)
        assert binned.codes[idx].tolist() == codes, name
        assert binned.cuts[idx].tolist() == cuts, name
        assert binned.n_codes[idx] == np.unique(column[~is_missing]).size or cuts, name
        assert binned.has_missing[idx] == is_missing.any(), name


@pytest.mark.parametrize("n_samples", [1, 20, N_UGLY])
def test_categories_that_are_few_many_or_late_are_coded_by_their_order(n_samples):
    rows = np.arange(n_samples, dtype=np.float64)
    columns = [
        rows % 3,
        np.where(rows % 7 == 0, np.nan, rows % FEW),
        rows % 200,
        np.where(rows == n_samples - 1, 5.0, rows % 2 * 9),
    ]

    binned = bin_values(table_of(columns, types=["category"] * len(columns)))

    for idx, column in enumerate(columns):
        codes, cuts, _ = expect(column, None, True)
        assert binned.codes[idx].tolist() == codes
        assert binned.cuts[idx].tolist() == cuts
        assert binned.n_codes[idx] == len(cuts)


def test_sign_of_a_zero_changes_no_threshold():
    rows = np.arange(40)
    column = np.where(rows % 2 == 0, 0.0, np.where(rows % 4 == 1, TINY, -TINY))

    pair = [bin_values(table_of([zeros + column])) for zeros in (-0.0, 0.0)]

    first, second = (search.cuts[0].tobytes() for search in pair)
    assert first == second == np.array([-TINY, 0.0]).tobytes()


def test_features_that_one_pass_does_not_hold_are_coded_as_any():
    values = np.arange(3 * 600).reshape(600, 3) % 7.0

    binned = bin_values(table_of(list(values)))

    assert [codes.tolist() for codes in binned.codes] == [
        expect(column, np.ones(3), False)[0] for column in values
    ]


def test_values_laid_out_otherwise_or_read_only_are_coded_by_the_same_kernel():
    values = np.random.default_rng(0).normal(size=(40, 3))
    fixed = np.asfortranarray(values)
    fixed.flags.writeable = False
    no_category, weights = np.zeros(3, np.bool_), np.full(40, 1 / 40)
    expected = code_columns(values, no_category, weights)
    before = len(getattr(kernels.encode, "signatures", ()))

    coded = code_columns(fixed, no_category, weights)

    assert np.array_equal(coded.codes, expected.codes)
    assert len(getattr(kernels.encode, "signatures", ())) == before


def test_cuts_of_ugly_columns_code_their_rows_again():
    columns = list(ugly_columns(N_UGLY).values())
    binned = bin_values(table_of(columns))
    values = np.column_stack(columns)

    parts = [encode_rows(rows, binned.cuts) for rows in (values[:99], values[99:])]

    assert np.hstack(parts).tolist() == binned.codes.tolist()
