"""Sums without rounding, and what is drawn from them, whatever the partition."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.simulation import exact
from askless.core.simulation.curve_sums import sum_rows
from askless.core.simulation.exact import sum_weighted

WEIGHTS = st.floats(min_value=0.0, max_value=1e308)
AMOUNTS = st.integers(min_value=0, max_value=2**63 - 1)


@given(st.lists(st.tuples(WEIGHTS, AMOUNTS, WEIGHTS), min_size=1, max_size=40))
def test_sums_are_those_of_fractions(rows):
    weights, amounts, floats = (np.array(column) for column in zip(*rows, strict=True))

    (found,) = sum_weighted(weights, amounts[:, None].astype(np.int64))
    (other,) = sum_weighted(weights, floats[:, None])

    assert found == sum(Fraction(weight) * amount for weight, amount, _ in rows)
    assert other == sum(Fraction(row) * Fraction(more) for row, _, more in rows)


def test_rows_beyond_a_limb_are_summed_too(monkeypatch):
    monkeypatch.setattr(exact, "MAX_ROWS", 3)
    is_wrong = np.array([[True], [False], [True], [True]])

    assert sum_weighted(np.array([0.1, 1.0, 0.2, 0.3]), is_wrong) == (
        Fraction(0.1) + Fraction(0.2) + Fraction(0.3),
    )


def test_most_rows_that_are_summed_at_once_lose_no_digit():
    n_rows = exact.MAX_ROWS
    most = np.full((n_rows, 1), 2**63 - 1)

    assert sum_weighted(np.nextafter(np.ones(n_rows), 0.0), most) == (
        n_rows * Fraction(2**63 - 1) * (1 - Fraction(1, 2**53)),
    )


def sums_of(rows):
    weights, wrong, spent = rows
    return sum_rows(weights, wrong, ~wrong, spent)


@pytest.fixture
def rows():
    random = np.random.default_rng(7)
    weights = random.random(50) * 10.0 ** random.integers(-9, 9, 50)
    return weights, random.random((50, 2)) < 0.3, random.integers(0, 10**15, (50, 2))


@pytest.mark.parametrize("cuts", [[], [0, 0], [1], [7, 20, 20, 49]])
def test_blocks_add_up_to_the_whole(rows, cuts):
    columns = [np.split(column, cuts) for column in rows]
    parts = [sums_of(part) for part in zip(*columns, strict=True)]

    found = parts[-1]
    for part in parts[-2::-1]:
        found += part

    assert found == sums_of(rows)
    assert found.to_curve([1, None], None) == sums_of(rows).to_curve([1, None], None)


def test_curve_of_no_row_has_no_errors(rows):
    none = sums_of([column[:0] for column in rows])

    curve = none.to_curve([1, None], None)

    assert curve.errors == curve.mean_spends == (0.0, 0.0)
    assert curve.n_effective is None
    assert none + sums_of(rows) == sums_of(rows)


def test_weights_count_as_they_are():
    weights, wrong = np.array([1e308, 1e308, 1e300]), np.array([[True], [False]] * 2)
    sums = sum_rows(weights, wrong[:3], wrong[:3], np.array([[7], [7], [7]]))

    large, small = Fraction(1e308), Fraction(1e300)
    share = (large + small) / (2 * large + small)

    assert sums.average(sums.wrong_votes) == (float(share),)
    assert sums.average(sums.spent) == (7.0,)
    assert sums.count_effective(None) == pytest.approx(2.0)
