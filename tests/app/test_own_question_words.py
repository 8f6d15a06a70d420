"""What a model says of the questions that it asks each case."""

from dataclasses import replace
from typing import Any

import pytest

from askless.app.terminal.show import summarise_model
from askless.app.words.facts import list_facts
from askless.app.words.own_questions import (
    OUT_OF_FORCE,
    describe_out_of_force,
    describe_own_questions,
)
from askless.core.model.ensemble import BudgetRange
from askless.core.model.model import Model
from askless.core.session import machine
from tests.sessions import small_ensemble

BUDGETS = [0.0, 1.0, 2.5, None]


def make(*in_force: int, gain: float = 0.06, **changes: Any) -> Model:
    own = {
        "in_force": [bool(share) for share in in_force],
        "leads": [0.0] * 4,
        "gains": [0.0] * 4,
        "mean_gain": gain,
        "standard_error": 0.003,
    }
    card = {"comparison": {"budgets": BUDGETS, "own_questions": own}}
    ensemble = replace(small_ensemble([1, 1]), **changes)
    return Model("m", ensemble, "y", card=card)


@pytest.mark.parametrize(
    ("in_force", "expected"),
    [
        ((0, 1, 1, 0), "from 1 to 2.50: 6 points fewer errors"),
        ((0, 1, 1, 1), "from 1 up: 6 points fewer errors"),
        ((0, 1, 0, 1), "at 1 and without a limit: 6 points fewer errors"),
    ],
)
def test_budgets_in_force_and_their_gain_are_named(
    in_force: tuple[int, ...], expected: str
) -> None:
    words = f"asks each case its own questions {expected}"
    model = make(*in_force)
    assert describe_own_questions(model) == words
    assert ("Questions", words) in list_facts(model)
    assert summarise_model(model).endswith(words)


def test_one_list_for_all_says_why() -> None:
    why = "own questions don't pay on this table (0.1 ± 0.3 points)"
    model = make(0, 0, 0, 0, gain=0.001)
    assert describe_own_questions(model) == f"one list for all: {why}"
    early = make(0, 0, 0, 0, gain=0.001, ranges=(BudgetRange(None, "adaptive"),))
    assert describe_own_questions(early) == why


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (0.004, "as many errors, surer probabilities"),
        (-0.004, "as many errors, surer probabilities"),
        (0.006, "1 point fewer errors"),
        (-0.016, "2 points more errors"),
    ],
)
def test_gain_that_rounds_to_no_point_is_not_said_as_one(
    gain: float, words: str
) -> None:
    model = make(0, 1, 1, 1, gain=gain)
    own = "asks each case its own questions from 1 up"
    assert describe_own_questions(model) == f"{own}: {words}"


def test_sure_gain_that_is_not_in_force_is_not_said_not_to_pay() -> None:
    assert describe_own_questions(make(0, 0, 0, 0, gain=0.041)) == (
        "one list for all: own questions are not asked: they did better on average "
        "over all budgets (4.1 ± 0.3 points), but under none was it sure enough by "
        "log-loss"
    )


def test_error_costs_have_no_points() -> None:
    costs = ((0.0, 1.0), (5.0, 0.0))
    model = make(0, 1, 1, 1, error_costs=costs)
    assert describe_own_questions(model) == (
        "asks each case its own questions from 1 up: "
        "0.06 ± 0.003 of error cost saved a case"
    )


@pytest.mark.parametrize(
    "damage", [None, [], {"own_questions": 1}, {"own_questions": {"in_force": [True]}}]
)
def test_card_without_own_questions_says_nothing(damage: object) -> None:
    model = replace(make(0, 0, 0, 0), card={"comparison": damage})
    assert describe_own_questions(model) is None


def test_policy_out_of_force_says_so() -> None:
    ensemble = small_ensemble([1, 1])
    state = replace(machine.start(ensemble, None), policy="worth")
    assert describe_out_of_force(ensemble, state) == OUT_OF_FORCE
    on = replace(ensemble, ranges=(BudgetRange(None, "worth"),))
    assert describe_out_of_force(on, state) is None
