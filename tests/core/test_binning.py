import math
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.binning import MAX_CODES, bin_values, find_thresholds
from core.kernels import MISSING
from core.types import Catalogue, ClassLabel, Dataset, Feature
from tests import naive
from tests.strategies import datasets, rows_of

TINY = 5e-324
HUGE = sys.float_info.max
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def table_of(columns, types=None, weights=None):
    values = np.array(columns, dtype=np.float64).T.copy()
    n_samples = values.shape[0]
    kinds = types or ["number"] * len(columns)
    return Dataset(
        Catalogue(tuple(Feature(f"f{i}", kind) for i, kind in enumerate(kinds))),
        (ClassLabel("0", "0"), ClassLabel("1", "1")),
        values,
        np.arange(n_samples) % 2,
        np.full(n_samples, 1 / n_samples) if weights is None else weights,
    )


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
    actual = find_thresholds(np.sort(np.array(present)), None)

    assert actual.tolist() == thresholds


@given(st.lists(FINITE, max_size=12), st.booleans())
def test_threshold_lies_between_neighbours_or_on_the_lower_of_adjacent_doubles(
    present, is_weighted
):
    weights = np.arange(1.0, len(present) + 1) if is_weighted else None

    thresholds = find_thresholds(np.sort(np.array(present)), weights)

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

    thresholds = find_thresholds(values, None)

    assert thresholds[0] == 0.5


def test_heavy_highest_value_keeps_a_cut():
    values = np.concatenate((np.full(99_700, 1000.0), np.arange(1.0, 301)))

    thresholds = find_thresholds(values, None)

    assert thresholds.size > 0


def test_constant_feature_has_one_code_and_an_empty_one_none():
    binned = bin_values(table_of([[5.0, 5.0], [np.nan, np.nan], [np.nan, 2.0]]))

    assert binned.n_codes.tolist() == [1, 0, 1]


def test_categories_that_do_not_occur_get_no_code():
    binned = bin_values(table_of([[4.0, 1.0, np.nan, 4.0]], ["category"]))

    assert binned.cuts[0].tolist() == [1.0, 4.0]
    assert binned.codes[0].tolist() == [1, 0, MISSING, 1]


def test_table_without_features_has_no_codes():
    dataset = table_of([[1.0, 2.0]])
    bare = Dataset(
        Catalogue(()),
        dataset.classes,
        np.empty((2, 0)),
        dataset.targets,
        dataset.weights,
    )

    assert bin_values(bare).codes.shape == (0, 2)
