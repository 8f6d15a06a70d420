"""Sessions end where going on is not worth it; `spend="all"` goes on."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.price_lists import PriceList
from askless.core.model.ensemble import BudgetRange, Ensemble, Knee
from askless.core.session import machine
from askless.core.session.plans.outline import outline
from askless.core.session.position import Position
from askless.core.session.state import Aim, Answer, State, StopRule
from askless.core.simulation.simulate import simulate
from tests.core.session.test_panel_sessions import ensemble_of
from tests.core.session.test_worth import make

NEVER = StopRule(certain=False)
ALL = replace(NEVER, spend="all")


def with_knees(ensemble: Ensemble, *pairs: tuple[int | None, int | None]) -> Ensemble:
    return replace(ensemble, knees=tuple(Knee(*pair) for pair in pairs))


@pytest.fixture(name="panels")
def panels_fixture() -> Ensemble:
    return with_knees(ensemble_of((1, 2, 4), (0, 1, 2)), (0, 0), (1, 1), (3, 1), (7, 7))


def take(ensemble: Ensemble, state: State, *answers: Answer) -> State:
    return machine.observe(ensemble, state, answers)


def answer_by(ensemble: Ensemble, state: State, row: np.ndarray) -> State:
    """Answer what is asked by a row's values, those of a bundle first."""
    question = machine.next_question(ensemble, state)
    assert question is not None
    idxs = sorted(question.feature_idxs, key=lambda idx: bool(np.isnan(row[idx])))
    answers = [
        Answer(idx, "unavailable")
        if np.isnan(row[idx])
        else Answer(idx, "value", float(row[idx]))
        for idx in idxs
    ]
    return take(ensemble, state, *answers)


def play(
    ensemble: Ensemble,
    budget: int | None,
    stop: StopRule = NEVER,
    row: np.ndarray | None = None,
) -> State:
    """Answer by a row, by default 1, until the session asks no more."""
    values = np.ones(len(ensemble.catalogue.features)) if row is None else row
    state = machine.start(ensemble, budget, stop=stop)
    while state.next_feature_idx is not None and state.stop_reason is None:
        state = answer_by(ensemble, state, values)
    return state


@pytest.mark.parametrize(
    ("budget", "spent", "reason"),
    [
        (0, 0, "budget_exhausted"),
        (1, 1, "budget_exhausted"),
        # Nothing else can be paid: the budget is the reason.
        (2, 1, "budget_exhausted"),
        (3, 1, "not_worth_it"),
        (6, 1, "not_worth_it"),
        (7, 7, "all_known"),
        (None, 7, "all_known"),
    ],
)
def test_session_ends_at_the_worthwhile_part(panels, budget, spent, reason) -> None:
    state = play(panels, budget)
    assert (state.spent, state.stop_reason) == (spent, reason)
    assert simulate(panels, np.ones((1, 3)), [budget]).spent.tolist() == [[spent]]


def test_spend_all_goes_on(panels) -> None:
    state = play(panels, 3, ALL)
    assert (state.spent, state.stop_reason) == (3, "budget_exhausted")
    walks = simulate(panels, np.ones((1, 3)), [3], spend="all")
    assert walks.spent.tolist() == [[3]]
    assert play(replace(panels, knees=()), 3) == replace(state, stop=NEVER)


def test_end_has_the_forecast_of_the_worthwhile_part(panels) -> None:
    ended, small = play(panels, 3), play(panels, 1)
    assert machine.forecast(panels, ended) == machine.forecast(panels, small)


def test_question_beyond_is_shown_and_may_be_answered(panels) -> None:
    ended = play(panels, 3)
    question = machine.next_question(panels, ended)
    assert question is not None
    assert (question.feature_idx, question.price) == (1, 2)
    beyond = take(panels, ended, Answer(1, "value", 1.0))
    assert (beyond.spent, Position.of(panels, beyond).remaining) == (3, 0)
    assert beyond.stop_reason == "budget_exhausted"


def test_larger_budget_opens_what_pays_again(panels) -> None:
    changed = machine.change_budget(panels, play(panels, 3), 7)
    assert (changed.stop_reason, changed.next_feature_idx) == (None, 1)


def test_exploration_may_buy_what_is_not_worth_it(panels) -> None:
    asked = [
        machine.start(panels, 3, seed, {0: 1.0}, stop=NEVER, explore=0.5)
        for seed in range(20)
    ]
    ends = {(state.stop_reason, state.next_feature_idx) for state in asked}
    assert (None, 1) in ends


def test_plan_ends_at_the_worthwhile_part(panels) -> None:
    assert [question.feature_idx for question in outline(panels, 3)] == [0]


def test_aims_and_other_policies_have_their_own_ends(panels) -> None:
    position = Position.of(panels, machine.start(panels, 3, stop=NEVER))
    assert position.limit == 1
    for changes in ({"aim": Aim(mean_budget=1)}, {"policy": "adaptive"}):
        other = Position(panels, replace(position.state, **changes))
        assert (other.limit, other.beyond) == (3, other)


def test_policy_of_the_worthwhile_part_asks() -> None:
    ensemble, values = make(2)
    budgets, micros = (0, None), 1_000_000
    ranges = (BudgetRange(4 * micros, "worth"), BudgetRange(None, "panels"))
    ranged = replace(ensemble, ranges=ranges)
    limited = with_knees(ranged, (4 * micros, 4 * micros), (None, 4 * micros))
    ended = simulate(limited, values[:20], budgets)
    assert ended.policies == ("worth", "worth")
    expected = simulate(ranged, values[:20], [4 * micros])
    assert np.array_equal(ended.scores[:, 1], expected.scores[:, 0])
    for row in range(20):
        state = play(limited, None, row=values[row])
        assert state.spent == ended.spent[row, 1]
        assert state.stop_reason != "budget_exhausted"


def test_knees_follow_the_price_list(panels) -> None:
    dearer = panels.at_prices(PriceList({"f0": 10, "f1": 20, "f2": 40}, {}), "prices")
    parts = [(knee.budget, knee.worthwhile) for knee in dearer.knees]
    scale = sum(dearer.catalogue.costs) // 7
    assert parts == [(0, 0), (scale, scale), (3 * scale, scale), (7 * scale, 7 * scale)]
