"""What a curve says in one number: savings, half the cost, the knee, and chance."""

from dataclasses import replace
from typing import Any

import pytest

from askless.app.words.savings import (
    Saving,
    best_places_so_far,
    compute_saving,
    describe_lost,
    half_spend_place,
    knee_place,
    noise_in_points,
)
from askless.core.model.ensemble import Knee
from askless.core.model.hypotheses import Stump
from askless.core.model.model import Curve, Model
from tests.small import MICROS, ensemble_of

ERRORS = (0.5, 0.2, 0.24, 0.2)
CURVE = Curve(
    budgets=(0, 2 * MICROS, 5 * MICROS, None),
    errors=ERRORS,
    errors_calibrated=ERRORS,
    mean_spends=(0.0, 2e6, 5e6, 8e6),
    max_spends=(0, 2 * MICROS, 5 * MICROS, 9 * MICROS),
    n_samples=100,
)


def model_with(knee: Knee, curve: Curve = CURVE, **fields: Any) -> Model:
    """Return a model of one stump with a curve and the knee of its largest budget."""
    ensemble = ensemble_of([Stump(0, 0.5, (1,))], knees=(knee,), **fields)
    return Model("m", ensemble, curve=curve)


PART = 2 * MICROS
PAIRED = Knee(None, PART, gain=0.0, standard_error=0.01)


def test_a_saving_has_the_interval_of_paired_rows() -> None:
    saving = compute_saving(model_with(PAIRED))

    assert saving is not None
    assert (saving.spend, saving.whole_spend, saving.share) == (2e6, 8e6, 0.25)
    assert (saving.error, saving.whole_error) == (0.2, 0.2)
    assert saving.lost == pytest.approx((-0.0196, 0.0196), abs=1e-4)
    # Of 30 errors avoided in 100 cases 28.04 are surely so, for a quarter of the cost.
    assert saving.least == pytest.approx(1 - 0.25 * 0.3 / 0.2804, abs=1e-4)


def test_the_lower_end_falls_with_the_width_of_the_interval() -> None:
    widths = (0.0, 0.01, 0.05, 0.1)
    savings = [
        compute_saving(model_with(replace(PAIRED, standard_error=width)))
        for width in widths
    ]
    ends = [saving.least for saving in savings if saving is not None]

    assert ends == sorted(ends, reverse=True)
    assert ends[0] == pytest.approx(0.75)
    assert len(ends) == 4


def test_no_saving_is_told_that_may_be_none() -> None:
    unpaired, unsure = Knee(None, PART), replace(PAIRED, standard_error=0.2)
    dear = replace(CURVE, mean_spends=(0.0, 7.5e6, 7.8e6, 8e6))
    free = replace(CURVE, mean_spends=(0.0,) * 4)
    lost = replace(CURVE, errors_calibrated=(0.5, 0.49, 0.24, 0.2))
    costs = ((0.0, 1.0), (2.0, 0.0))
    models = [
        model_with(unpaired),
        model_with(unsure),
        *(model_with(PAIRED, curve) for curve in (dear, free, lost)),
        model_with(PAIRED, error_costs=costs),
        replace(model_with(PAIRED), curve=None),
        model_with(replace(PAIRED, worthwhile=-1)),
    ]

    assert [compute_saving(model) for model in models] == [None] * len(models)


@pytest.mark.parametrize(
    ("most", "words"),
    [
        (-0.001, "and no more errors"),
        (0.004, "and at most 1 more error in 100 cases"),
        (0.021, "and at most 3 more errors in 100 cases"),
    ],
)
def test_errors_that_may_be_lost_are_rounded_up(most: float, words: str) -> None:
    saving = Saving(1.0, 2.0, 0.2, 0.2, (-0.02, most), 0.4)

    assert describe_lost(saving) == words


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
