"""Errors under budgets: rows are played as sessions before they are learnt.

A session of a row takes as long as learning some dozen of them. So after the first rows
since training one in `STEP` is played, and stands for those between.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.catalogue.prices import from_micros
from askless.core.model.ensemble import Ensemble
from askless.core.model.figures import Estimate
from askless.core.model.learning_state import (
    OF_LATE,
    RECENT_ROWS,
    SINCE_TRAINING,
    LearningState,
    estimate_wrong,
)
from askless.core.simulation.blocks import evaluate_ends
from askless.core.simulation.simulate import simulate

# So many rows since training are all played, then one in so many.
FIRST_ROWS, STEP = 1_000, 10


@dataclass(frozen=True, slots=True)
class BudgetError:
    """Errors of sessions under a budget, in micro-units; None: unlimited.

    `error` is that of the rows of a call, None if none of them was played; `recent` is
    the running error of late, after them.
    """

    budget: int | None
    error: Estimate | None
    recent: Estimate | None


def split_at_played(first: int, n_rows: int) -> Iterator[tuple[slice, int]]:
    """Yield spans of rows, and how many rows the first of each stands for when played.

    `first` is the number of the first row since training. 0: that row is not played.
    """
    start = 0
    while start < n_rows:
        number = first + start
        if number < FIRST_ROWS:
            n_meant = length = 1
        else:
            past = number % STEP
            n_meant, length = 0 if past else STEP, STEP - past
        yield slice(start, min(start + length, n_rows)), n_meant
        start += length


def play_row(
    ensemble: Ensemble, values: FloatArray, target: int, learning: LearningState
) -> FloatArray:
    """Return whether a row's session errs under each budget, 0 or 1; (n_budgets,).

    `values` (1, n_features). Draws are those of the row's number since training.
    """
    walks = simulate(
        ensemble,
        values,
        learning.budgets,
        seed=learning.seed,
        streams=[learning.n_learnt],
    )
    _, wrong_labels, _ = evaluate_ends(ensemble, np.array([target]), walks)
    return np.asarray(wrong_labels[0], np.float64)


def add_played_row(
    record: FloatArray, wrong: FloatArray, weight: float, n_meant: int
) -> None:
    """Add a row's errors (n_budgets,) to a record of budgets, in place.

    The row counts for `n_meant` rows of its weight, and as many rows of late fade.
    """
    counted = weight * n_meant
    sums = np.column_stack(
        (np.full_like(wrong, counted), np.full_like(wrong, counted**2), counted * wrong)
    )
    fade = 0.5 ** (n_meant / RECENT_ROWS)
    record[:, SINCE_TRAINING] += sums
    record[:, OF_LATE] = record[:, OF_LATE] * (fade, fade**2, fade) + sums


def list_budget_errors(
    learning: LearningState, before: FloatArray
) -> tuple[BudgetError, ...]:
    """Return the errors under each budget of rows since a record `before`."""
    pairs = zip(learning.budgets, learning.budget_record, before, strict=True)
    return tuple(
        BudgetError(
            budget,
            estimate_wrong(after[SINCE_TRAINING] - old[SINCE_TRAINING]),
            estimate_wrong(after[OF_LATE]),
        )
        for budget, after, old in pairs
    )


def describe_budget_errors(learning: LearningState) -> list[dict[str, object]]:
    """Return a card's facts on errors under budgets; amounts in units."""
    facts = list[dict[str, object]]()
    for budget, record in zip(learning.budgets, learning.budget_record, strict=True):
        since, late = (estimate_wrong(sums) for sums in record)
        if since is not None and late is not None:
            facts.append(
                {
                    "budget": None if budget is None else from_micros(budget),
                    "error": since.value,
                    "interval": list(since.interval or ()),
                    "recent_error": late.value,
                    "recent_interval": list(late.interval or ()),
                }
            )
    return facts
