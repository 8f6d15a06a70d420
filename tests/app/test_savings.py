"""What a curve says in one number: savings, half the cost, the knee, and chance."""

from dataclasses import replace

from askless.app.words.savings import (
    best_places_so_far,
    compute_saving,
    half_spend_place,
    knee_place,
    noise_in_points,
)
from askless.core.model.ensemble import Knee
from askless.core.model.model import Curve
from tests.small import MICROS

ERRORS = (0.5, 0.2, 0.24, 0.2)
CURVE = Curve(
    budgets=(0, 2 * MICROS, 5 * MICROS, None),
    errors=ERRORS,
    errors_calibrated=ERRORS,
    mean_spends=(0.0, 2e6, 5e6, 8e6),
    max_spends=(0, 2 * MICROS, 5 * MICROS, 9 * MICROS),
    n_samples=100,
)


def test_same_error_for_less_is_a_saving() -> None:
    found = compute_saving(CURVE)

    assert found is not None
    assert (found.share, found.error, found.spend) == (0.25, 0.2, 2e6)


def test_no_saving_is_told_where_only_the_whole_cost_reaches_the_error() -> None:
    better = replace(CURVE, errors_calibrated=(0.5, 0.2, 0.24, 0.19))
    small = replace(CURVE, mean_spends=(0.0, 7.5e6, 7.8e6, 8e6))
    free = replace(CURVE, mean_spends=(0.0,) * 4)

    assert [compute_saving(curve) for curve in (better, small, free)] == [None] * 3


def test_half_is_the_largest_budget_of_at_most_half_the_spend() -> None:
    dear = replace(CURVE, mean_spends=(5e6, 6e6, 7e6, 8e6))

    assert (half_spend_place(CURVE), half_spend_place(dear)) == (1, None)


def test_every_budget_is_worth_it_where_nothing_else_was_measured() -> None:
    unlimited = Curve((None,), (0.1,), (0.1,), (1e6,), (MICROS,), n_samples=100)

    assert [knee_place(curve, ()) for curve in (CURVE, unlimited)] == [2, None]


def test_knee_is_where_sessions_end_by_themselves() -> None:
    finite = [Knee(0, 0), Knee(2 * MICROS, 2 * MICROS), Knee(5 * MICROS, 2 * MICROS)]
    paying = [*finite[:2], Knee(5 * MICROS, 5 * MICROS), Knee(None, None)]

    assert [knee_place(CURVE, knees) for knees in (finite, paying)] == [1, 2]


def test_best_so_far_never_rises() -> None:
    assert best_places_so_far(CURVE) == [0, 1, 1, 1]


def test_chance_is_wider_with_fewer_rows() -> None:
    assert noise_in_points(CURVE) == 9
    assert noise_in_points(replace(CURVE, n_samples=10_000)) == 1
    # At 20 % and 100 rows the interval is 13.3 to 28.9 %.
