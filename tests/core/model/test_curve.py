"""Budgets of a curve at which a smaller one does as well, and what is spent then."""

from dataclasses import replace

import pytest

from askless.core.model.figures import Estimate
from askless.core.model.model import Curve
from tests.curves import curve_of
from tests.small import MICROS


def test_a_dearer_point_that_surely_errs_more_names_the_best_cheaper_one():
    curve = curve_of((0.4, 0.2, 0.21, 0.3), n_samples=2000)

    assert curve.betters == (None, None, None, 1)


def test_a_gap_within_a_standard_error_is_luck():
    # Of 2,000 rows each the difference of two shares of a fifth has one of 1.3 points.
    within, beyond = (curve_of((0.4, 0.2, 0.2 + gap)) for gap in (0.012, 0.014))

    assert within.betters == (None, None, None)
    assert beyond.betters == (None, None, 1)


def test_fewer_independent_rows_say_less():
    curve = curve_of((0.4, 0.2, 0.22))

    assert curve.betters[2] == 1
    assert replace(curve, n_effective=200.0).betters[2] is None


def test_one_wrong_row_of_a_hundred_is_luck_beside_none():
    assert curve_of((0.5, 0.0, 0.01), n_samples=100).betters[2] is None


def test_larger_budgets_are_no_better_ones():
    curve = curve_of((0.5, 0.4, 0.3, 0.2))

    assert curve.betters == (None,) * 4


def test_the_smaller_budget_must_not_cost_more_by_its_errors(figures):
    errors = 0.4, 0.2, 0.3

    def cost(*means):
        told = tuple(replace(figures, expected_cost=Estimate(m, None)) for m in means)
        return replace(curve_of(errors), predictive=told).betters[2]

    assert cost(5.0, 3.0, 1.0) is None
    assert cost(5.0, 1.0, 1.0) == 1


def test_best_budget_is_the_smaller_one_where_that_does_as_well():
    curve = curve_of((0.4, 0.2, 0.3, 0.1))

    assert curve.best_budget(2 * MICROS) == MICROS
    assert curve.best_budget(5 * MICROS // 2) == MICROS


def test_best_budget_is_the_budget_elsewhere():
    curve = curve_of((0.4, 0.2, 0.3, 0.1))

    kept = 0, MICROS // 2, MICROS, 3 * MICROS // 2, None
    assert [curve.best_budget(one) for one in kept] == [*kept]


def test_no_limit_may_do_worse_than_a_budget():
    curve = curve_of((0.4, 0.2, 0.3))

    assert curve.best_budget(None) == MICROS


def test_a_budget_below_the_curve_stays():
    curve = curve_of((0.4, 0.2, 0.3))
    cut = replace(curve, budgets=(MICROS, 2 * MICROS, None))

    assert cut.best_budget(1) == 1


def test_curve_in_any_order_is_read_by_its_budgets():
    curve = Curve((None, 5), (0.3, 0.2), (0.3, 0.2), (9.0, 5.0), (9, 5), 2000)

    assert curve.betters == (1, None)


@pytest.fixture
def figures():
    from askless.core.model.figures import Figures

    one = Estimate(0.5, None)
    return Figures(one, one, one, one, one, one, None, ())
