"""Which part of a budget is worth spending, by errors on held-out rows."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.model.ensemble import BudgetRange, Ensemble, Knee
from askless.core.pipeline.budgets import find_knees
from askless.core.simulation.figures import ScoredRows
from tests.sessions import small_ensemble

BUDGETS = (0, 10, 20, None)


def score(n_rows: int, *shares: float) -> ScoredRows:
    """Rows of two classes; under each budget a share is wrong, drawn by itself."""
    targets, generator = np.arange(n_rows) % 2, np.random.default_rng(0)
    order = [generator.permutation(n_rows) for _ in shares]
    is_right = n_rows * np.array(shares) <= np.array(order).T
    own = np.where(is_right, 0.9, 0.1)[..., None]
    is_own = np.arange(2) == targets[:, None, None]
    weights = np.full(n_rows, 1.0 / n_rows)
    chances = np.where(is_own, own, 1.0 - own)
    return ScoredRows(targets, weights, np.arange(n_rows), chances)


def parts_of(rows: ScoredRows, **fields) -> list[int | None]:
    ensemble = replace(small_ensemble((10, 10)), policy="panels", **fields)
    knees = find_knees(ensemble, rows, BUDGETS)
    assert [knee.budget for knee in knees] == [*BUDGETS]
    return [knee.worthwhile for knee in knees]


def test_budget_that_errs_no_less_is_not_worth_it() -> None:
    assert parts_of(score(2000, 0.5, 0.2, 0.2, 0.2)) == [0, 10, 10, 10]


def test_budget_that_errs_less_is_worth_it() -> None:
    assert parts_of(score(2000, 0.5, 0.3, 0.2, 0.1)) == [*BUDGETS]


def test_few_rows_do_not_make_a_gain_worthless() -> None:
    # Within a standard error, but not within half a point.
    assert parts_of(score(100, 0.5, 0.2, 0.18, 0.18)) == [0, 10, 20, 20]


def test_small_gains_add_up() -> None:
    assert parts_of(score(1000, 0.5, 0.2, 0.197, 0.194)) == [0, 10, 10, None]
    assert parts_of(score(1000, 0.5, 0.2, 0.197, 0.196)) == [0, 10, 10, 10]


def test_chances_of_a_rare_class_are_worth_something() -> None:
    rows = score(2000, 0.1, 0.1, 0.1, 0.1)
    blurred = rows.chances.copy()
    blurred[:, 0] = 0.5 + 0.02 * (rows.chances[:, 0] - 0.5)
    assert parts_of(rows._replace(chances=blurred)) == [0, 10, 10, 10]


@pytest.mark.parametrize("cost", [1.0, 100.0])
def test_unit_of_error_costs_does_not_matter(cost: float) -> None:
    costs = ((0.0, cost), (cost, 0.0))
    rows = score(1000, 0.5, 0.2, 0.197, 0.194)
    assert parts_of(rows, error_costs=costs) == [0, 10, 10, None]


def test_other_policies_have_no_knees() -> None:
    ensemble: Ensemble = small_ensemble((10, 10))
    assert find_knees(ensemble, score(10, 0.5, 0.2, 0.2, 0.2), BUDGETS) == ()
    ranges = (BudgetRange(10, "panels"), BudgetRange(None, "adaptive"))
    mixed = replace(ensemble, ranges=ranges)
    knees = find_knees(mixed, score(2000, 0.2, 0.2, 0.2, 0.2), BUDGETS)
    parts = [(0, 0), (10, 0), (20, 20), (None, None)]
    assert knees == tuple(Knee(*part) for part in parts)
