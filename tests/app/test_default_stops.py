"""Sessions, `evaluate` and `predict` of a model stop by one rule: what is kept."""

from dataclasses import replace

import numpy as np
import pytest

from askless.app.batch.predicting import (
    PredictOrder,
    PredictWork,
    assign_rows_to_budgets,
    play_rows_of_budget,
)
from askless.core.model.ensemble import BudgetRange
from askless.core.session import machine
from askless.core.simulation.curves import evaluate
from askless.core.simulation.outcomes import TableRows, simulate_each
from tests.panels import make_ladder, make_stopping
from tests.sessions import answer_from_row, small_ensemble
from tests.small import table_of

BUDGETS = 1, 3, 7, None
N_ROWS = 60


def adaptive_from(budget: int | None):
    """Panels of three features, whose easy cases end early above a budget; rows."""
    ensemble = small_ensemble((1, 2, 4))
    ladder = make_ladder(ensemble, ((0, 1, 2),), seed=3)
    panels = tuple(replace(panel, may_lack=frozenset()) for panel in ladder.panels)
    stopping = make_stopping(len(panels), 1)
    rule = replace(
        stopping.rules[0],
        rate=0.0,
        targets=np.array([0, 0, 1, 2]),
        thresholds=np.array([0.0, 0.25, 0.3, 0.35]),
    )
    ladder = replace(ladder, panels=panels, stopping=replace(stopping, rules=(rule,)))
    ranges = BudgetRange(budget, "panels"), BudgetRange(None, "adaptive")
    columns = np.random.default_rng(1).normal(size=(3, N_ROWS))
    rows = table_of(columns, np.arange(N_ROWS) % 2, ensemble.catalogue)
    return replace(ensemble, policy="panels", panels=ladder, ranges=ranges), rows


def cost_of_sessions(ensemble, rows, budget):
    """Mean charge of real sessions that end where they advise to."""
    spent = [
        answer_from_row(
            ensemble, machine.start(ensemble, budget, stream=idx), row.tolist()
        )[0].spent
        for idx, row in enumerate(rows.values)
    ]
    return float(np.mean(spent))


@pytest.mark.parametrize("budget", BUDGETS)
def test_printed_spend_is_what_sessions_cost(budget):
    ensemble, rows = adaptive_from(1)

    printed = evaluate(ensemble, rows, [budget]).mean_spends[0]

    assert printed == pytest.approx(cost_of_sessions(ensemble, rows, budget))


@pytest.mark.parametrize("budget", BUDGETS)
def test_predicted_tables_spend_what_sessions_cost(budget):
    ensemble, rows = adaptive_from(1)
    work = PredictWork(ensemble, PredictOrder([budget]), None)
    [share] = assign_rows_to_budgets({}, rows.n_samples, work.order)

    batch = play_rows_of_budget(work, rows.values, share, 0)
    table = TableRows(rows.values, range(rows.n_samples), 0)
    ends = simulate_each(ensemble, table, [budget] * rows.n_samples, None, None)

    expected = cost_of_sessions(ensemble, rows, budget)
    assert batch.spent.mean() == ends.spent.mean() == pytest.approx(expected)


def test_a_policy_that_is_named_asks_instead():
    ensemble, rows = adaptive_from(1)

    spends = [
        evaluate(ensemble, rows, [None], policy).mean_spends[0]
        for policy in (None, "adaptive", "panels")
    ]

    assert spends[0] == spends[1] < spends[2] == pytest.approx(7)
