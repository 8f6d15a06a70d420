"""Rows as codes for trees, and as columns for the rest."""

import math
from dataclasses import replace

import numpy as np
import pytest

from askless.core import kernels
from askless.core.catalogue.catalogue import UNSEEN
from askless.core.kernels import MISSING_CODE, NUMBER_CODE
from askless.core.model.ladder.columns import ALONE
from askless.core.panels import rows as panel_rows
from askless.core.panels.rows import (
    LEAST_CATEGORIES,
    MAX_COVARIED,
    OTHERS,
    DealtFolds,
    PanelRows,
)
from tests.panels import random_rows
from tests.small import table_of

NAN = math.nan


def rows_of(*columns, types=None, **fields) -> PanelRows:
    return PanelRows(table_of(columns, types=types, **fields), 0)


def weighted(columns, weights) -> tuple[np.ndarray, np.ndarray]:
    """Means and spreads of columns by the weights of rows."""
    shares = weights / weights.sum()
    means = shares @ columns
    return means, np.sqrt(shares @ (columns - means) ** 2)


def test_numbers_are_standardised_by_the_weights_of_rows():
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    rows = rows_of([1.0, 2.0, 4.0, 8.0], weights=weights)

    laid = rows.columns.take((0,)).standardise(rows.dataset.values)

    means, spreads = weighted(laid, weights)
    assert means == pytest.approx(0.0, abs=1e-12)
    assert spreads == pytest.approx(1.0)


def test_numbers_are_clipped_where_training_has_next_to_none():
    rows = rows_of(np.append(np.arange(999.0), 1e9))
    columns = rows.columns.take((0,))

    wild, clipped = columns.standardise(np.array([[1e9], [columns.highs[0]]]))

    assert wild == clipped
    assert columns.highs[0] < 1000


def test_missing_number_is_the_mean_and_has_a_column_that_says_so():
    rows = rows_of([1.0, NAN, 3.0, NAN, 5.0])
    columns = rows.columns.take((0,))

    laid = columns.standardise(rows.dataset.values)

    is_missing = np.isnan(rows.dataset.values[:, 0])
    assert columns.codes.tolist() == [NUMBER_CODE, MISSING_CODE]
    assert laid[is_missing, 0].tolist() == [0.0, 0.0]
    assert (laid[:, 1] > 0).tolist() == is_missing.tolist()
    assert laid[~is_missing, 0].mean() == pytest.approx(0.0)


def test_category_has_a_column_for_each_code_the_most_frequent_first():
    rows = rows_of([0, 2, 2, 1, 2, 1], types=["category"])
    columns = rows.columns.take((0,))

    laid = columns.standardise(rows.dataset.values)

    assert columns.codes.tolist() == [2, 1, 0]
    is_code = rows.dataset.values == columns.codes
    np.testing.assert_array_equal(laid > 0, is_code)


def test_category_of_two_codes_has_one_column():
    rows = rows_of([0, 1, 1, 0, 1], types=["category"])

    assert rows.columns.take((0,)).codes.tolist() == [1]


def test_categories_have_columns_until_all_features_have_as_many_as_are_covaried():
    many = np.random.default_rng(0).permutation(300)
    few = np.arange(300) % 40
    rows = rows_of(many, few, np.arange(300.0), types=["category"] * 2 + ["number"])

    counts = np.bincount(rows.columns.feature_idxs)

    assert counts.tolist() == [MAX_COVARIED - 41, 40, 1]


def test_many_categories_of_many_features_have_the_least_number_of_columns():
    values = np.random.default_rng(0).permuted(
        np.tile(np.arange(60) % 20, (30, 1)), axis=1
    )
    rows = rows_of(*values, types=["category"] * 30)

    assert np.bincount(rows.columns.feature_idxs).tolist() == [LEAST_CATEGORIES] * 30


def test_category_unseen_is_none_of_the_codes_and_missing_is_the_mean():
    rows = rows_of([0, 2, 2, 1, 2, 1], types=["category"])

    unseen, missing = rows.columns.take((0,)).standardise(np.array([[UNSEEN], [NAN]]))

    assert (unseen < 0).all()
    assert missing.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("column", [[3.0] * 4, [NAN] * 4])
def test_column_that_says_nothing_is_laid_as_zeros(column):
    rows = rows_of(column)

    laid = rows.columns.take((0,)).standardise(rows.dataset.values)

    assert not laid.any()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_space_has_the_weighted_covariance_of_its_columns_drawn_to_none(n_classes):
    rows = random_rows(1, n_classes, 80)

    space = rows.select_with_covariance((5, 0, 2))

    laid = rows.columns.take((5, 0, 2)).standardise(rows.dataset.values)
    products = np.einsum("n,nj,nk->jk", rows.weights / rows.weights.sum(), laid, laid)
    expected = 0.95 * products + 0.05 * np.eye(len(products))
    np.testing.assert_allclose(space.covariance, expected, atol=1e-4)
    assert space.places.tolist() == list(range(space.codes.size))


def test_covariance_is_as_a_file_keeps_it():
    space = random_rows(2, 2, 80).select_with_covariance(range(6)).covariance

    np.testing.assert_array_equal(space, space.T)
    assert not (np.signbit(space) & (space == 0)).any()
    assert np.linalg.eigvalsh(space).min() > 0


def test_columns_without_spread_leave_the_covariance_positive():
    rows = rows_of([3.0] * 4, [NAN] * 4, [0.0, 1.0, 0.0, 1.0])

    covariance = rows.select_with_covariance((0, 1, 2)).covariance

    assert np.linalg.eigvalsh(covariance).min() > 0


def test_columns_beyond_the_limit_are_in_no_covariance(monkeypatch):
    monkeypatch.setattr(panel_rows, "MAX_COVARIED", 3)

    space = random_rows().select_with_covariance((5, 0, 2))

    assert space.covariance.shape == (3, 3)
    assert space.places[:3].tolist() == [0, 1, 2]
    assert set(space.places[3:]) == {ALONE}


def test_codes_order_numbers_and_tell_what_is_missing():
    rows = rows_of([5.0, NAN, 1.0, 5.0, 2.0])

    assert rows.coarse.codes.tolist() == [[2, kernels.LOST, 0, 2, 1]]
    assert rows.cuts[0].tolist() == [1.5, 3.5]
    assert rows.coarse.n_codes.tolist() == [3]
    assert rows.coarse.has_missing.tolist() == [True]


def test_numbers_of_many_values_have_as_many_rows_in_each_code():
    values = np.random.default_rng(0).permutation(630.0 + np.arange(630))
    rows = rows_of(values)

    counts = np.bincount(rows.coarse.codes[0])

    assert counts.size == rows.coarse.n_codes[0] == kernels.LOST
    assert counts.min() >= 9
    assert counts.max() <= 11


def test_a_value_of_most_rows_leaves_most_cuts_to_the_others():
    values = np.concatenate((np.zeros(1800), 1.0 + np.arange(200)))
    rows = rows_of(values)

    counts = np.bincount(rows.coarse.codes[0])

    assert counts.size > kernels.LOST * 3 / 4
    assert counts[0] == 1800
    assert counts[1:].max() <= 5


def test_cuts_lie_at_the_boundaries_of_a_rare_class():
    values = np.arange(1000.0)
    # Quantiles would cut at multiples of 16, or between rows of the rare class.
    is_rare = (values >= 505) & (values < 509) | (values >= 751) & (values < 754)
    rows = rows_of(values, targets=is_rare.astype(int), n_classes=2)

    cuts = rows.cuts[0]

    assert {504.5, 508.5, 750.5, 753.5} <= set(cuts.tolist())
    assert cuts.size <= kernels.LOST - 1
    assert np.diff(cuts).max() < 20


def test_half_of_the_cuts_are_quantiles_however_many_boundaries_there_are():
    values = np.arange(1000.0)
    is_rare = (values >= 500) & (values % 8 == 0)
    rows = rows_of(values, targets=is_rare.astype(int), n_classes=2)

    cuts = rows.cuts[0]

    assert cuts.size == kernels.LOST - 1
    assert (cuts < 499).sum() == 15
    assert (cuts > 499).sum() == 47


def test_rare_categories_have_no_code_of_their_own():
    rows = rows_of([*range(70), *range(8, 70), NAN], types=["category"])

    codes = rows.coarse.codes[0]

    assert codes[:8].tolist() == [OTHERS] * 8
    assert codes[8:70].tolist() == list(range(OTHERS))
    assert codes[-1] == kernels.LOST
    assert rows.coarse.n_codes.tolist() == [OTHERS]


def test_features_of_one_value_or_none_are_not_useful():
    numbers = [1.0, 2.0, NAN, 1.0], [3.0, 3.0, NAN, 3.0], [NAN] * 4
    categories = [0, 1, 1, 1], [1, 1, NAN, 1], [NAN] * 4
    rows = rows_of(*numbers, *categories, types=["number"] * 3 + ["category"] * 3)

    assert rows.is_useful.tolist() == [True, False, False] * 2


def test_class_shares_are_those_of_the_weights_and_never_quite_0():
    rows = rows_of([0.0] * 3, targets=[0, 0, 1], n_classes=3, weights=[0.5, 0.3, 0.2])

    assert rows.priors == pytest.approx([0.8, 0.2, 0.0], abs=1e-3)
    assert rows.priors.min() > 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_start_is_the_log_odds_of_the_class_shares(n_classes):
    rows = random_rows(n_classes=n_classes)

    told = np.append(0.0, rows.starts) if n_classes == 2 else rows.starts

    chances = np.exp(told) / np.exp(told).sum()
    np.testing.assert_allclose(chances, rows.priors)


def test_weights_of_rows_have_mean_1():
    assert random_rows().weights.mean() == pytest.approx(1.0)


def test_every_other_row_is_a_fold_where_a_class_has_one_row():
    rows = rows_of([0.0] * 5, targets=[0, 0, 0, 0, 1])

    assert [fold.tolist() for fold in rows.folds(5)] == [[0, 2, 4], [1, 3]]


@pytest.mark.parametrize(
    ("n_judges", "expected"), [(1, 1), (6, 1), (7, 2), (24, 4), (99, 4)]
)
def test_folds_are_held_out_until_so_many_rows_judge(n_judges, expected):
    rows = random_rows()

    held_out = rows.hold_out(4, n_judges)

    folds = rows.folds(4)[:expected]
    judges = np.sort(np.concatenate(folds))
    assert [fold.tolist() for fold in held_out.folds] == [
        fold.tolist() for fold in folds
    ]
    assert held_out.row_idxs.tolist() == judges.tolist()
    assert held_out.targets.tolist() == rows.targets[judges].tolist()
    assert held_out.weights.tolist() == rows.weights[judges].tolist()


def test_rows_that_belong_together_are_in_one_fold():
    rows = random_rows()
    groups = np.arange(rows.n_rows) // 3
    grouped = PanelRows(replace(rows.dataset, row_groups=groups), 0)

    folds = grouped.folds(4)

    parts = [set(groups[fold]) for fold in folds]
    assert sum(map(len, parts)) == len(set(groups))


def dealt_rows(n_ladders: int, n_folds: int = 4) -> PanelRows:
    """Rows whose folds are dealt; of the first ones each has a ladder without it."""
    rows = random_rows()
    fold_of = (np.arange(rows.n_rows) * 5 % 7 % n_folds).astype(np.int8)
    return replace(rows, dealt=DealtFolds(fold_of, n_folds, n_ladders))


def test_dealt_folds_are_used_whatever_number_is_asked_for():
    rows = dealt_rows(2)

    folds = rows.folds(3)

    assert len(folds) == 4
    for number, fold in enumerate(folds):
        assert (rows.dealt.fold_of[fold] == number).all()
    assert sum(fold.size for fold in folds) == rows.n_rows


@pytest.mark.parametrize(("n_ladders", "expected"), [(0, 1), (1, 2), (2, 3), (4, 4)])
def test_one_fold_more_is_held_out_than_have_a_ladder(n_ladders, expected):
    held_out = dealt_rows(n_ladders).hold_out(4, 1)

    assert len(held_out.folds) == expected


def test_ladders_are_that_of_all_rows_and_those_without_a_fold():
    assert random_rows().ladders == (None,)
    assert dealt_rows(2).ladders == (None, 0, 1)


def test_thinned_rows_keep_their_folds():
    rows = dealt_rows(2)
    weights = np.arange(1.0, 1 + rows.n_rows)
    rows = replace(rows, dataset=replace(rows.dataset, weights=weights))

    few = rows.thin(9)

    # Weights, which are in proportion to places, name the rows.
    first, last = few.weights[[0, -1]]
    scale = (rows.n_rows - 1) / (last - first)
    row_idxs = ((few.weights - first) * scale).round().astype(int)
    assert few.n_rows == 9
    assert few.dealt.fold_of.tolist() == rows.dealt.fold_of[row_idxs].tolist()
    assert few.ladders == rows.ladders


def test_rows_that_are_few_enough_are_not_thinned():
    rows = dealt_rows(2)

    assert rows.thin(rows.n_rows) is rows


def test_rows_of_other_folds_are_marked():
    held_out = dealt_rows(2).hold_out(4, 1)

    marks = [held_out.mark_others(fold) for fold in (None, 1)]

    assert marks[0].all()
    assert held_out.row_idxs[~marks[1]].tolist() == held_out.folds[1].tolist()
