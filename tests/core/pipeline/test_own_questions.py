"""Where own questions of each case are in force, by held-out rows."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from askless.core.model.ensemble import BudgetRange
from askless.core.pipeline import own_questions
from askless.core.pipeline.comparison import Comparison, OwnQuestions, PlayedRows
from askless.core.pipeline.own_questions import (
    add_own_questions,
    choose_budgets_in_force,
    evaluate_own_questions,
    list_runs_in_force,
    policy_under_budget,
)
from tests.small import table_of

# Budgets of 0, 10, 20, 30 and no limit; everything costs 50.
BUDGETS = (0, 10, 20, 30, None)
BASE = (BudgetRange(15, "panels"), BudgetRange(None, "adaptive"))


def own(*in_force: int) -> OwnQuestions:
    flags = tuple(map(bool, in_force))
    return OwnQuestions(BUDGETS, (0.0,) * 5, (0.0,) * 5, flags, 0.0, 0.0, 50)


@pytest.mark.parametrize(
    ("leads", "gains", "expected"),
    [
        ([3, 3, 3], [1, 1, 1], [0, 0, 0]),
        ([3, 5, 3], [1, 1, 1], [1, 1, 1]),
        ([3, 1, 5], [1, 1, 1], [0, 0, 1]),
        ([3, 5, 3], [1, 1, -1], [1, 1, 0]),
        ([5, 5, 5], [-1, -1, -1], [0, 0, 0]),
    ],
)
def test_run_leads_everywhere_and_much_somewhere(
    leads: list[float], gains: list[float], expected: list[int]
) -> None:
    chosen = choose_budgets_in_force(np.array(leads, float), np.array(gains, float))
    assert chosen.astype(int).tolist() == expected


@pytest.mark.parametrize(
    ("in_force", "runs", "ranges"),
    [
        ((0, 0, 0, 0, 0), [], [(15, "panels"), (None, "adaptive")]),
        (
            (0, 1, 1, 0, 0),
            [(10, 29)],
            [(9, "panels"), (29, "worth"), (None, "adaptive")],
        ),
        (
            (0, 1, 0, 1, 1),
            [(10, 19), (30, None)],
            [(9, "panels"), (19, "worth"), (29, "adaptive"), (None, "worth")],
        ),
        ((0, 0, 0, 0, 1), [(50, None)], None),
        (
            (0, 0, 0, 1, 0),
            [(30, 49)],
            [(15, "panels"), (29, "adaptive"), (49, "worth"), (None, "adaptive")],
        ),
        ((1, 1, 1, 1, 1), [(0, None)], [(None, "worth")]),
    ],
)
def test_runs_become_ranges_of_budgets(in_force, runs, ranges) -> None:
    judged = own(*in_force)
    comparison = add_own_questions(Comparison(BUDGETS, (), (), (), BASE), judged)
    assert list_runs_in_force(judged) == runs
    assert comparison.own_questions == judged
    if ranges is not None:
        given = [(one.up_to, one.policy) for one in comparison.ranges]
        assert given == ranges


def test_budget_at_the_price_of_everything_keeps_its_own_range() -> None:
    judged = replace(own(0, 0, 0, 1, 0), whole_price=30)
    assert list_runs_in_force(judged) == [(30, 30)]


def test_without_ranges_every_budget_is_asked_by_lists() -> None:
    assert policy_under_budget([], 10) == "panels"


def test_few_rows_of_each_fold_are_played_beside_the_same_rows_of_lists(monkeypatch):
    rows = table_of([np.arange(40.0)], np.arange(40) % 2)
    ensemble: Any = SimpleNamespace(
        panels=SimpleNamespace(worth=()), catalogue=rows.catalogue
    )
    listed = PlayedRows(*([rows.values + 1.0] * 3))
    played = []

    def play(_, some, *__):
        played.append(some.values[:, 0].tolist())
        return PlayedRows(*([some.values] * 3))

    monkeypatch.setattr(own_questions, "simulate_policy", play)
    monkeypatch.setattr(own_questions, "MOST_JUDGED", 10)

    found = evaluate_own_questions([(ensemble, rows)] * 2, (0,), 0, [listed] * 2)

    assert played == [[0, 10, 20, 29, 39]] * 2
    assert found.gains == pytest.approx((1.0,))
