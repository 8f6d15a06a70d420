"""Columns of which some are hidden: the normal distribution given the others."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.kernels import NUMBER_CODE
from askless.core.model.ladder.columns import ALONE, Columns

# Of six features the third has three columns; the last column goes with no other.
READ = np.array([0, 1, 2, 2, 2, 3, 4, 5])
N_FEATURES = 6


@pytest.fixture
def columns() -> Columns:
    """Columns of a covariance, but for the last two."""
    random = np.random.default_rng(4)
    draws = random.normal(size=(6, 9))
    places = np.array([3, 0, 1, 5, 2, 4, ALONE, ALONE])
    zeros, ones = np.zeros(8), np.ones(8)
    codes = np.full(8, NUMBER_CODE)
    plain = Columns(READ, codes, -9 * ones, 9 * ones, zeros, ones)
    return replace(plain, places=places, covariance=draws @ draws.T / 9)


def whole_covariance(columns: Columns) -> np.ndarray:
    """Of all columns, in their order: variance 1 and no other of those alone."""
    n_columns = columns.codes.size
    whole = np.eye(n_columns)
    for pair, other in np.ndindex(n_columns, n_columns):
        places = columns.places[pair], columns.places[other]
        if ALONE not in places:
            whole[pair, other] = columns.covariance[places]
    return whole


def naive_normal(columns, is_out, laid):
    """Mean (n_rows, n_hidden) and variance of hidden columns given the others."""
    whole = whole_covariance(columns)
    inner = np.linalg.inv(whole[np.ix_(~is_out, ~is_out)])
    across = whole[np.ix_(is_out, ~is_out)]
    variance = whole[np.ix_(is_out, is_out)] - across @ inner @ across.T
    return laid[:, ~is_out] @ inner @ across.T, variance


def hide(columns: Columns, *idxs: int):
    is_hidden = np.zeros(N_FEATURES, np.bool_)
    is_hidden[list(idxs)] = True
    return columns.hide(is_hidden)


EACH = pytest.mark.parametrize(
    "idxs", [(0,), (2,), (2, 5), (4,), (4, 5), (0, 1, 2, 3), (1, 3, 4), range(6), ()]
)


@EACH
def test_hidden_columns_have_the_mean_that_the_others_tell(columns, idxs):
    laid = np.random.default_rng(0).normal(size=(5, 8))
    is_out = np.isin(READ, list(idxs))

    filled = hide(columns, *idxs).fill(laid)

    expected = laid.copy()
    expected[:, is_out] = naive_normal(columns, is_out, laid)[0]
    np.testing.assert_allclose(filled, expected, atol=1e-12)


@EACH
def test_spread_is_the_variance_of_hidden_columns_along_directions(columns, idxs):
    directions = np.random.default_rng(1).normal(size=(8, 4))
    is_out = np.isin(READ, list(idxs))

    spreads = hide(columns, *idxs).compute_variances(directions)

    _, variance = naive_normal(columns, is_out, np.zeros((1, 8)))
    its = directions[is_out]
    np.testing.assert_allclose(spreads, (its.T @ variance @ its).diagonal(), atol=1e-12)


def test_filling_leaves_what_it_reads_as_it_was(columns):
    laid = np.random.default_rng(0).normal(size=(2, 1, 8))
    before = laid.copy()

    filled = hide(columns, 0, 2).fill(laid)

    assert filled.shape == laid.shape
    np.testing.assert_array_equal(laid, before)


def test_value_of_a_hidden_column_changes_nothing(columns):
    laid = np.random.default_rng(0).normal(size=(3, 8))
    other = laid.copy()
    other[:, READ == 2] = 99.0

    hidden = hide(columns, 2)

    np.testing.assert_array_equal(hidden.fill(laid), hidden.fill(other))


def test_columns_of_some_features_keep_their_places_and_share_the_covariance(columns):
    taken = columns.take((5, 2))

    assert taken.feature_idxs.tolist() == [5, 2, 2, 2]
    assert taken.places.tolist() == [ALONE, 1, 5, 2]
    assert taken.covariance is columns.covariance


def test_no_columns_are_taken_of_no_features(columns):
    assert columns.take(()).codes.size == 0
