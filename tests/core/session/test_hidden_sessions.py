"""Whole sessions in which anything is hidden, missing, late, unasked or repriced."""

import copy
import math
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core import kernels
from askless.core.catalogue.prices import buy
from askless.core.errors import OverBudgetError, UselessAnswerError
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import Stump
from askless.core.model.ladder.blends import to_chances
from askless.core.panels.ladders import fit_ladder
from askless.core.session import machine
from askless.core.session.answers import bundle_members, compute_paid
from askless.core.session.ladders import (
    LEAST_GAIN,
    compute_expected_loss,
    mark_gone,
    mark_known,
)
from askless.core.session.position import Position
from askless.core.session.state import Answer, State
from tests import strategies
from tests.panels import NEVER_HIDDEN, make_ladder, shorten, with_panels
from tests.sessions import BUNDLE, NEVER, observe, small_ensemble
from tests.small import MICROS, ensemble_of, finish, random_dataset

OUTCOMES = "value", "value", "value", "ordered", "unavailable", "refused", "unknown"
Events = list[tuple[Any, ...]]


@cache
def fitted(n_classes: int) -> Ensemble:
    """An ensemble of panels fitted to a small random table."""
    dataset = random_dataset(5, n_classes, 60, 6, n_values=4)
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        budgets = [2 * MICROS, 5 * MICROS, 20 * MICROS]
        ladder = finish(fit_ladder(dataset, 3, budgets))
    votes = (1,) if n_classes == 2 else (1, -1, -1)
    plain = ensemble_of([Stump(0, 0.5, votes)], dataset.catalogue, n_classes)
    return replace(plain, panels=ladder, policy="panels")


class Talk(NamedTuple):
    """An ensemble, the budget that a session begins with, and what happens to it."""

    ensemble: Ensemble
    budget: int | None
    events: Events

    def __repr__(self) -> str:
        """Say which panels there are: fitted ones would fill a screen."""
        panels = [
            (p.feature_idxs, p.loss, p.rises) for p in self.ensemble.panels.panels
        ]
        return f"Talk({panels}, {self.budget}, {self.events})"


@st.composite
def hiding(draw) -> Ensemble:
    """An ensemble whose panels know what they lose without their features."""
    ensemble: Ensemble = draw(with_panels(strategies.ensembles(max_hypotheses=1)))
    if NEVER_HIDDEN not in ensemble.panels.panels[0].rises:
        return ensemble
    return fitted(draw(st.sampled_from([2, 3])))


@st.composite
def talks(draw) -> Talk:
    """Anything that may happen to a session of any ensemble."""
    ensemble = draw(hiding())
    idxs = st.integers(0, len(ensemble.catalogue.features) - 1)
    numbers = st.sampled_from([0.0, 1.0, 2.0])
    answers = st.tuples(
        st.just("answer"), st.none() | idxs, st.sampled_from(OUTCOMES), numbers
    )
    budgets = strategies.budgets()
    if max(ensemble.catalogue.costs) >= MICROS // 2:
        budgets = st.none() | st.integers(0, 12).map(lambda one: one * MICROS)
    events = st.lists(answers | st.tuples(st.just("budget"), budgets), max_size=8)
    return Talk(ensemble, draw(budgets), draw(events))


def begin(ensemble: Ensemble, budget: int | None) -> State:
    return machine.start(ensemble, budget, policy="panels", stop=NEVER)


def happen(ensemble: Ensemble, state: State, event: tuple[Any, ...]) -> State:
    """Answer the question or another feature, or change the budget; what can't, not."""
    if event[0] == "budget":
        budget = event[1]
        if budget is not None:
            budget = max(budget, state.spent)
        return machine.change_budget(ensemble, state, budget)
    _, idx, outcome, number = event
    idx = state.next_feature_idx if idx is None else idx
    if idx is None:
        return state
    try:
        value = number if outcome == "value" else None
        return observe(ensemble, state, idx, outcome, value)
    except OverBudgetError:
        return state


def run(ensemble: Ensemble, budget: int | None, events: Events) -> list[State]:
    states = [begin(ensemble, budget)]
    for event in events:
        states.append(happen(ensemble, states[-1], event))
    return states


def helpful(ensemble: Ensemble, state: State) -> list[int]:
    """Open features that can be paid and lower the expected loss, each alone.

    Of a case that nothing predicts, or of which something came back without a value;
    what was ordered is to come.
    """
    ladder, position = ensemble.panels, Position.of(ensemble, state)
    known, found = mark_known(position).copy(), []
    has_blend = ladder.panels[ladder.best_panel(known)].blend is not None
    if has_blend and not mark_gone(position).any():
        return []
    known |= position.case.status == kernels.PENDING
    now = ladder.expect_losses(known[: ladder.n_read])[ladder.best_panel(known)]
    for idx in np.flatnonzero(position.case.status == kernels.OPEN).tolist():
        if idx >= ladder.n_read or not position.is_affordable[idx]:
            continue
        after = known.copy()
        after[[idx, *bundle_members(ensemble.catalogue, state, idx)]] = True
        number = ladder.best_panel(after)
        loss = ladder.expect_losses(after[: ladder.n_read])[number]
        is_read = idx in ladder.panels[number].feature_idxs
        if is_read and now - loss > LEAST_GAIN:
            found.append(idx)
    return found


def find_aim(ensemble: Ensemble, state: State) -> tuple[float, list[int]]:
    """Least loss of what can be bought, all that may come known, and what is open."""
    ladder, position = ensemble.panels, Position.of(ensemble, state)
    to_come = mark_known(position) | (position.case.status != kernels.GONE)
    losses = ladder.expect_losses(to_come[: ladder.n_read])
    paid = compute_paid(ensemble.catalogue, state)
    found = []
    for number, panel in enumerate(ladder.panels):
        its = panel.feature_idxs
        rest = [idx for idx in its if state.outcomes[idx] is None]
        if buy(ensemble.catalogue, paid, rest)[0] <= position.remaining:
            found.append((float(losses[number]), rest))
    return min(found, key=lambda one: one[0])


@given(talks(), st.data())
def test_prediction_hangs_on_what_is_known_and_hidden_not_on_the_order(talk, data):
    ensemble, *_ = talk
    last = run(*talk)[-1]
    order = data.draw(st.permutations(range(len(last.history))))
    by_feature = {idx: [] for idx in range(len(last.outcomes))}
    for answer in last.history:
        by_feature[answer.feature_idx].append(answer)

    again = begin(ensemble, None)
    for place in order:
        # Of each feature what came first comes first.
        answer = by_feature[last.history[place].feature_idx].pop(0)
        again = observe(
            ensemble, again, answer.feature_idx, answer.outcome, answer.value
        )

    again = machine.change_budget(ensemble, again, last.budget)
    assert again.outcomes == last.outcomes
    one, two = (machine.forecast(ensemble, these) for these in (last, again))
    assert one.probabilities == two.probabilities
    assert again.spent == last.spent
    assert again.next_feature_idx == last.next_feature_idx


@given(talks())
def test_same_events_give_the_same_state(talk):
    ensemble, budget, events = talk
    state = run(ensemble, budget, events)[-1]

    # Without what the ladder has found by now.
    ladder = copy.copy(ensemble.panels)
    again = run(replace(ensemble, panels=ladder), budget, events)[-1]

    assert repr(again) == repr(state)


@given(talks())
def test_question_is_asked_while_something_affordable_lowers_the_expected_loss(talk):
    """One feature alone, or the panel that loses least of those that can be paid."""
    ensemble, *_ = talk

    for state in run(*talk):
        loss, rest = find_aim(ensemble, state)
        is_less = (
            loss < compute_expected_loss(Position.of(ensemble, state)) - LEAST_GAIN
        )
        if helpful(ensemble, state) or (rest and is_less):
            assert state.next_feature_idx is not None


@given(talks())
def test_chances_are_chances_and_spent_is_within_the_budget_whatever_is_hidden(talk):
    ensemble, *_ = talk

    for state in run(*talk):
        told = machine.forecast(ensemble, state).probabilities
        assert sum(told) == pytest.approx(1.0)
        assert min(told) >= 0
        assert state.budget is None or state.spent <= state.budget


def test_fitted_ladder_has_rises_and_hides():
    ladder = fitted(2).panels

    assert max(max(panel.rises, default=0.0) for panel in ladder.panels) > LEAST_GAIN
    assert ladder.spaces


def hidden_ensemble(rises, costs=(10, 10, 10), losses=(0.2, 0.4, 0.5)) -> Ensemble:
    """Panels (0, 1), (2,) and () that lose so much, and more without a member."""
    ensemble = small_ensemble(costs, policy="panels")
    ladder = make_ladder(ensemble, [(0, 1), (2,)], can_hide=True)
    by_set = {panel.feature_idxs: panel for panel in ladder.panels}
    panels = tuple(
        replace(by_set[order], loss=loss, rises=its, may_lack=frozenset())
        for order, loss, its in zip([(0, 1), (2,), ()], losses, rises, strict=True)
    )
    return replace(ensemble, panels=replace(ladder, panels=panels))


@pytest.mark.parametrize(("rise", "expected"), [(0.05, 1), (0.35, 2)])
def test_after_a_refusal_the_panel_of_least_expected_loss_is_asked_for(rise, expected):
    ensemble = hidden_ensemble([(rise, 0.1), (0.1,), ()])
    state = begin(ensemble, None)
    assert state.next_feature_idx == 0

    state = observe(ensemble, state, 0, "refused")

    assert state.next_feature_idx == expected


def test_refused_feature_makes_no_case_end_with_its_money_unspent():
    ensemble = hidden_ensemble([(0.05, 0.1), (0.1,), ()])
    state = observe(ensemble, begin(ensemble, 20), 0, "refused")

    state = observe(ensemble, state, 1, "value", 1.0)

    assert (state.next_feature_idx, state.spent) == (None, 10)
    assert machine.forecast(ensemble, state).known_share == 1.0


def test_single_features_are_asked_where_no_panel_can_be_bought_whole():
    ensemble = hidden_ensemble([(0.2, 0.01), (0.1,), ()], costs=(10, 99, 99))

    state = begin(ensemble, 20)

    assert state.next_feature_idx == 0
    state = observe(ensemble, state, 0, "value", 1.0)
    assert (state.next_feature_idx, state.stop_reason) == (None, "budget_exhausted")


def test_feature_that_lowers_the_loss_by_next_to_nothing_is_not_asked():
    losses = 0.4999, 0.4999, 0.5
    ensemble = hidden_ensemble([(0.0, 0.0), (0.0,), ()], (10, 99, 99), losses)

    assert begin(ensemble, 20).next_feature_idx is None


def test_bundle_that_helps_nothing_without_the_rest_is_not_asked():
    plain = small_ensemble([0, 0, 99], members={0: BUNDLE, 1: BUNDLE}, policy="panels")
    ladder = make_ladder(plain, [(0, 1, 2)], can_hide=True)
    whole, nothing = ladder.panels[0], ladder.panels[-1]
    panels = replace(whole, loss=0.2, rises=(0.1, 0.1, 0.9)), replace(nothing, loss=0.5)
    ensemble = replace(plain, panels=replace(ladder, panels=panels))

    state = begin(ensemble, 98)

    assert (state.next_feature_idx, state.stop_reason) == (None, "plan_complete")


@pytest.mark.parametrize(("rise", "is_of_use"), [(0.1, True), (0.9, False)])
def test_unasked_answer_is_charged_only_where_what_predicts_reads_it(rise, is_of_use):
    ensemble = hidden_ensemble([(0.1, rise), (0.1,), ()])
    state = begin(ensemble, 10)
    assert state.next_feature_idx == 2

    with nullcontext() if is_of_use else pytest.raises(UselessAnswerError):
        state = machine.observe(ensemble, state, [Answer(0, "value", 1.0)])

    assert state.spent == 10 * is_of_use


def lacking_ensemble(idx: int) -> Ensemble:
    """A panel of two features; training saw one of them lack, and has its flag."""
    plain = small_ensemble([10, 10], policy="panels")
    for seed in range(99):
        ladder = make_ladder(plain, [(0, 1)], seed, can_hide=True)
        if ladder.panels[0].may_lack == {idx}:
            return replace(plain, panels=ladder)
    raise AssertionError("some seed has it")


def chances_after(ensemble: Ensemble, idx: int, outcome: str) -> tuple[float, ...]:
    state = observe(ensemble, begin(ensemble, None), 1 - idx, "value", 1.0)
    state = observe(ensemble, state, idx, outcome)
    return machine.forecast(ensemble, state).probabilities


@pytest.mark.parametrize("idx", [0, 1])
def test_unavailable_says_something_where_training_saw_it(idx):
    ensemble = lacking_ensemble(idx)
    told = {outcome: chances_after(ensemble, idx, outcome) for outcome in OUTCOMES[-3:]}

    values = np.ones((1, 2))
    values[0, idx] = math.nan
    ladder = ensemble.panels
    expected = to_chances(ladder.panels[0].logits(values, ladder.starts))[0]
    assert told["unavailable"] == pytest.approx(expected.tolist())
    assert told["refused"] == told["unknown"] != told["unavailable"]


@pytest.mark.parametrize("idx", [0, 1])
def test_unavailable_is_hidden_as_what_was_refused_where_training_never_saw_it(idx):
    ensemble = lacking_ensemble(1 - idx)

    told = {chances_after(ensemble, idx, outcome) for outcome in OUTCOMES[-3:]}

    assert len(told) == 1


def test_unavailable_where_it_says_something_leaves_nothing_hidden():
    ensemble = lacking_ensemble(0)

    state = observe(ensemble, begin(ensemble, None), 0, "unavailable")

    position = Position.of(ensemble, state)
    assert mark_known(position).tolist() == [True, False]
    assert state.next_feature_idx == 1


def test_late_result_takes_the_place_of_what_was_hidden():
    ensemble = hidden_ensemble([(0.05, 0.1), (0.1,), ()])
    early = begin(ensemble, None)
    for idx in (0, 1):
        early = observe(ensemble, early, idx, "value", 1.0)

    late = observe(ensemble, begin(ensemble, None), 0, "ordered")
    late = observe(ensemble, late, 1, "value", 1.0)
    while_hidden = machine.forecast(ensemble, late).probabilities
    late = observe(ensemble, late, 0, "value", 1.0)

    told = machine.forecast(ensemble, early).probabilities
    assert machine.forecast(ensemble, late).probabilities == told != while_hidden
