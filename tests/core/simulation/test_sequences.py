"""Confidence sequences: against plain Python, by property, and in repetitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.simulation.sequences import bound_mean_gaps, count_until_above
from tests.naive_sequences import crossing, lower_bound

ALPHAS = st.sampled_from((0.01, 0.05, 0.2))
LISTS = st.lists(st.sampled_from((-1.0, -0.25, 0.0, 0.5, 1.0)), min_size=1, max_size=60)


def draw_gaps(n_cases: int, more: float, less: float, seed: object = 0) -> np.ndarray:
    """Gaps of 1 with the chance `more`, of -1 with the chance `less`, else 0."""
    drawn = np.random.default_rng(seed).random(n_cases)
    return (drawn < more).astype(float) - ((drawn >= more) & (drawn < more + less))


def bounds_of(gaps, alpha: float) -> tuple[float, float]:
    gaps = np.array(gaps, np.float64)
    ((low, high),) = bound_mean_gaps(gaps, np.array([gaps.size]), alpha)
    return low, high


@given(LISTS, ALPHAS)
def test_bounds_are_those_of_plain_python(gaps, alpha):
    low, high = bounds_of(gaps, alpha)

    assert low == pytest.approx(lower_bound(gaps, alpha), abs=2e-6)
    assert high == pytest.approx(-lower_bound([-gap for gap in gaps], alpha), abs=2e-6)


@given(LISTS, ALPHAS, st.sampled_from((-0.5, 0.0, 0.1)))
def test_a_crossing_is_that_of_plain_python(gaps, alpha, margin):
    found = count_until_above(np.array(gaps), margin, alpha)

    assert found == crossing(gaps, margin, alpha)


@given(LISTS, ALPHAS, st.sampled_from((-0.5, 0.0, 0.1)))
def test_the_first_crossing_is_where_the_lower_bound_first_passes(gaps, alpha, margin):
    found = count_until_above(np.array(gaps), margin, alpha)

    lows = bound_mean_gaps(np.array(gaps), np.arange(1, len(gaps) + 1), alpha)[:, 0]
    # A bound is found to 1e-12 and never above the true one.
    assert found == next((n + 1 for n, low in enumerate(lows) if low > margin), None)


@given(LISTS, ALPHAS, st.randoms(use_true_random=False))
def test_bounds_do_not_depend_on_the_order_of_cases(gaps, alpha, random):
    mixed = random.sample(gaps, len(gaps))

    assert bounds_of(mixed, alpha) == pytest.approx(bounds_of(gaps, alpha), abs=1e-9)


@given(LISTS, ALPHAS)
def test_bounds_hold_the_mean_of_their_cases(gaps, alpha):
    low, high = bounds_of(gaps, alpha)

    assert -1 <= low <= np.mean(gaps) <= high <= 1


@given(LISTS, ALPHAS)
def test_bounds_of_turned_gaps_are_turned(gaps, alpha):
    low, high = bounds_of(gaps, alpha)

    assert bounds_of([-gap for gap in gaps], alpha) == (-high, -low)


def test_without_cases_nothing_is_known():
    assert (
        bound_mean_gaps(np.empty(0), np.array([0, 0]), 0.05).tolist() == [[-1, 1]] * 2
    )


def test_without_cases_nothing_is_crossed():
    assert count_until_above(np.empty(0), 0.0, 0.05) is None


def test_bounds_close_in_on_the_mean():
    gaps = draw_gaps(20_000, 0.08, 0.05)

    bounds = bound_mean_gaps(gaps, np.array([200, 2000, 20_000]), 0.05)

    widths = bounds[:, 1] - bounds[:, 0]
    assert (np.diff(widths) < 0).all()
    assert widths[-1] < 0.02
    assert bounds[-1, 0] < 0.03 < bounds[-1, 1]


def test_equal_losses_give_narrow_bounds_around_zero():
    low, high = bounds_of(np.zeros(5000), 0.05)

    assert -0.002 < low <= 0 <= high < 0.002


def test_at_most_the_stated_share_of_equal_pairs_ever_crosses():
    drawn = [draw_gaps(1500, 0.06, 0.06, (7, number)) for number in range(400)]

    n_crossed = sum(
        count_until_above(member, 0.0, 0.05) is not None for member in drawn
    )

    assert 0 < n_crossed <= 20


def test_bounds_hold_at_all_looks_in_their_share_of_repetitions():
    looks = np.arange(20, 1000, 20)
    drawn = [draw_gaps(1000, 0.15, 0.05, (3, number)) for number in range(100)]

    bounds = np.array([bound_mean_gaps(member, looks, 0.1) for member in drawn])

    assert (bounds[:, :, 0] > 0.1).any(axis=1).sum() <= 10
    assert (bounds[:, :, 1] < 0.1).any(axis=1).sum() <= 10


def test_a_better_challenger_is_found():
    drawn = [draw_gaps(3000, 0.08, 0.03, (5, number)) for number in range(50)]

    found = [count_until_above(member, 0.0, 0.05) for member in drawn]

    assert None not in found
