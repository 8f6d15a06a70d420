"""Which part of a budget is worth spending, by errors on held-out rows."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.model.figures import Estimate, Figures
from askless.core.model.model import Curve
from askless.core.pipeline.budgets import (
    HeldOutLosses,
    choose_worthwhile_budgets,
    compute_held_out_losses,
    compute_knees,
    measure_optimism,
)
from askless.core.pipeline.validation import add_optimism
from askless.core.simulation.figures import ScoredRows
from tests.sessions import small_ensemble

BUDGETS = (0, 10, 20, None)
FREE = (0.0,) * len(BUDGETS)


def score(n_rows: int, *shares: float, is_nested: bool = False) -> ScoredRows:
    """Rows of two classes; under each budget a share is wrong, drawn by itself.

    Nested: a row that is wrong under a budget is wrong where the share is larger.
    """
    targets, generator = np.arange(n_rows) % 2, np.random.default_rng(0)
    order = [generator.permutation(n_rows) for _ in shares]
    if is_nested:
        order = [order[0]] * len(shares)
    is_right = n_rows * np.array(shares) <= np.array(order).T
    own = np.where(is_right, 0.9, 0.1)[..., None]
    is_own = np.arange(2) == targets[:, None, None]
    weights = np.full(n_rows, 1.0 / n_rows)
    chances = np.where(is_own, own, 1.0 - own)
    return ScoredRows(targets, weights, np.arange(n_rows), chances)


def parts_of(rows: ScoredRows, spends=FREE, **fields) -> list[int | None]:
    ensemble = replace(small_ensemble((10, 10)), **fields)
    knees = compute_knees(compute_held_out_losses(ensemble, rows, spends), BUDGETS)
    assert [knee.budget for knee in knees] == [*BUDGETS]
    return [knee.worthwhile for knee in knees]


def test_budget_that_errs_no_less_is_not_worth_it() -> None:
    assert parts_of(score(2000, 0.5, 0.2, 0.2, 0.2)) == [0, 10, 10, 10]


def test_budget_that_errs_less_is_worth_it() -> None:
    assert parts_of(score(2000, 0.5, 0.3, 0.2, 0.1)) == [*BUDGETS]


def test_few_rows_do_not_make_a_gain_worthless() -> None:
    rows = score(100, 0.5, 0.2, 0.18, 0.18, is_nested=True)
    assert parts_of(rows) == [0, 10, 20, 20]


def test_gain_within_the_noise_of_few_rows_is_worthless() -> None:
    assert parts_of(score(100, 0.5, 0.2, 0.18, 0.18)) == [0, 10, 10, 10]


def test_one_row_is_no_gain() -> None:
    rows = score(400, 0.5, 0.2, 0.1975, 0.1975, is_nested=True)
    assert parts_of(rows) == [0, 10, 10, 10]


def test_small_gains_add_up() -> None:
    assert parts_of(score(1000, 0.5, 0.2, 0.19, 0.17)) == [0, 10, 10, None]
    assert parts_of(score(1000, 0.5, 0.2, 0.19, 0.185)) == [0, 10, 10, 10]


def test_chances_of_a_rare_class_are_worth_something() -> None:
    rows = score(2000, 0.1, 0.1, 0.1, 0.1)
    blurred = rows.chances.copy()
    blurred[:, 0] = 0.5 + 0.02 * (rows.chances[:, 0] - 0.5)
    assert parts_of(rows._replace(chances=blurred)) == [0, 10, 10, 10]


@pytest.mark.parametrize("cost", [1.0, 100.0])
def test_unit_of_error_costs_does_not_matter(cost: float) -> None:
    costs = ((0.0, cost), (cost, 0.0))
    rows = score(1000, 0.5, 0.2, 0.19, 0.17)
    assert parts_of(rows, error_costs=costs) == [0, 10, 10, None]


@pytest.mark.parametrize(
    ("price", "parts"),
    [(0.299, [0, 10, 10, 10]), (0.301, [0, 0, 0, 0]), (0.05, [0, 10, 20, 20])],
)
def test_purchase_must_cost_less_than_it_saves(price, parts) -> None:
    # The first purchase saves 0.3 of error costs, the second 0.1, the last nothing.
    rows, costs = score(2000, 0.5, 0.2, 0.1, 0.1), ((0.0, 1.0), (1.0, 0.0))
    spends = tuple(MICROS_PER_UNIT * price * n for n in (0, 1, 2, 3))
    assert parts_of(rows, spends, error_costs=costs) == parts
    assert parts_of(rows, spends) == [0, 10, 20, 20]


def test_purchases_pay_together() -> None:
    # The second alone costs more than it saves, but with the third less.
    rows, costs = score(2000, 0.5, 0.2, 0.19, 0.05), ((0.0, 1.0), (1.0, 0.0))
    spends = tuple(MICROS_PER_UNIT * spend for spend in (0.0, 0.1, 0.12, 0.14))
    assert parts_of(rows, spends, error_costs=costs) == [0, 10, 10, None]


def test_part_never_spends_more_on_average() -> None:
    # Early ends under the third budget spend less than all of the second.
    rows = score(2000, 0.5, 0.2, 0.2, 0.2)
    spends = tuple(MICROS_PER_UNIT * spend for spend in (0.0, 8.0, 6.0, 6.0))
    assert parts_of(rows, spends) == [0, 10, 20, 20]


def test_what_a_budget_gains_besides_is_known_where_it_is_not_worth_it() -> None:
    rows = score(1000, 0.5, 0.2, 0.197, 0.197)
    losses = compute_held_out_losses(small_ensemble((10, 10)), rows, FREE)
    knees = compute_knees(losses, BUDGETS)
    assert [knee.gain for knee in knees] == pytest.approx([None, None, 0.003, 0.003])
    errors = [knee.standard_error for knee in knees]
    assert errors[:2] == [None, None]
    assert 0.0 < errors[2] < 0.05


def lose(is_wrong: np.ndarray) -> HeldOutLosses:
    """Losses of rows whose labels are wrong there; (n_rows, n_budgets)."""
    ensemble, n_rows = replace(small_ensemble((10, 10)), policy="panels"), len(is_wrong)
    losses = compute_held_out_losses(ensemble, score(n_rows, 0.5, 0.5, 0.5, 0.5), FREE)
    errors = is_wrong.astype(np.float64)
    return losses._replace(errors=errors, costs=2.0 * errors)


def test_error_at_a_part_that_its_own_rows_chose_is_too_low() -> None:
    shares, gaps = np.array([0.5, 0.24, 0.22, 0.2]), []
    for seed in range(60):
        losses = lose(np.random.default_rng(seed).random((100, 4)) < shares)
        parts = choose_worthwhile_budgets(losses)[1:]
        errors, costs = measure_optimism(losses, np.arange(100) % 5)
        assert costs == pytest.approx(2.0 * errors)
        measured = losses.errors.mean(0) - shares
        gaps.append((measured[parts].mean(), (measured + errors)[parts].mean()))
    chosen, corrected = np.mean(gaps, 0)
    assert chosen < -0.01
    assert abs(corrected) < 0.005


def test_error_at_a_part_that_all_rows_choose_stays() -> None:
    is_wrong = np.zeros((100, 4))
    is_wrong[::2, 0] = is_wrong[::10, 1:] = 1.0
    errors, costs = measure_optimism(lose(is_wrong), np.arange(100) % 5)
    assert [*errors, *costs] == pytest.approx([0.0] * 8)


def test_only_errors_at_parts_are_corrected() -> None:
    is_wrong = np.random.default_rng(1).random((100, 4)) < [0.5, 0.24, 0.22, 0.2]
    losses = lose(is_wrong)
    is_part = np.isin(range(4), choose_worthwhile_budgets(losses)[1:])
    errors, _ = measure_optimism(losses, np.arange(100) % 5)
    assert errors[is_part].all()
    assert not errors[~is_part].any()


def test_corrected_curve_has_costs_with_their_intervals() -> None:
    share, estimate = Estimate(0.5, None), Estimate(0.3, (0.1, 0.5))
    figures = [
        Figures(None, share, share, share, None, None, cost, ())
        for cost in (None, estimate, Estimate(0.3, None))
    ]
    errors = (0.5, 0.2, 0.9)
    curve = Curve((0, 10, None), errors, errors, (0.0,) * 3, (0,) * 3, 100)
    added = np.array([0.0, 0.1, 0.2]), np.array([0.0, 0.1, -0.4])
    corrected = add_optimism(replace(curve, predictive=tuple(figures)), *added)
    assert corrected.errors_calibrated == pytest.approx((0.5, 0.3, 1.0))
    assert corrected.errors == curve.errors
    assert corrected.predictive is not None
    costs = [it.expected_cost for it in corrected.predictive]
    assert costs == [None, Estimate(0.4, (0.2, 0.6)), Estimate(0.0, None)]
    assert add_optimism(curve, *added).predictive is None
