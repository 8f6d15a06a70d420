"""Charges taken back: what is due again, and what a session goes on with."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.errors import AnswerError, OverBudgetError
from askless.core.session import machine
from askless.core.session.answers import MAX_TAKEN
from askless.core.session.machine import reverse
from askless.core.session.state import Answer, Charge
from askless.core.session.steps import trace_answers
from tests.levels import at_most
from tests.panels import make_ladder
from tests.sessions import BUNDLE, FEE, begun, observe, observe_all, small_ensemble

BLOOD = {0: FEE, 1: FEE}


def test_reversal_lowers_what_is_spent_and_keeps_what_is_known():
    ensemble, state = begun([7, 5])
    state = observe(ensemble, state, 0, "value", 1.0)

    after = reverse(ensemble, state, 0)

    assert (after.spent, after.charges) == (0, ())
    assert (after.values[0], after.history) == (1.0, state.history)
    assert machine.forecast(ensemble, after) == machine.forecast(ensemble, state)


def test_what_was_reversed_pays_the_next_question():
    ensemble, state = begun([7, 5], budget=7)
    state = observe(ensemble, state, 0, "value", 1.0)

    after = reverse(ensemble, state, 0)

    assert state.next_feature_idx is None
    assert after.next_feature_idx == 1


@pytest.mark.parametrize("answer", [("value", 0.0), ("ordered",)])
def test_next_answer_that_differs_is_charged_anew(answer):
    ensemble, state = begun([7, 5])
    state = reverse(ensemble, observe(ensemble, state, 0, "value", 1.0), 0)

    same = observe(ensemble, state, 0, "value", 1.0)
    after = observe(ensemble, state, 0, *answer)

    assert same is state
    assert after.charges == (Charge(0, 7),)


def test_fee_of_a_reversed_charge_is_due_with_the_next_of_its_group():
    ensemble, state = begun([7, 5, 3], members=BLOOD)
    state = observe_all(ensemble, state, (0, "value", 1.0), (1, "value", 1.0))

    after = reverse(ensemble, state, 0)
    again = observe(ensemble, after, 0, "value", 0.0)

    assert (state.spent, after.spent) == (7 + FEE.fee + 5, 5)
    assert again.charges == (Charge(1, 5), Charge(0, 7 + FEE.fee))


def test_fee_of_a_standing_charge_stays_paid():
    ensemble, state = begun([7, 5, 3], members=BLOOD)
    state = observe_all(ensemble, state, (0, "value", 1.0), (1, "value", 1.0))

    again = observe(ensemble, reverse(ensemble, state, 1), 1, "value", 0.0)

    assert again.charges == (Charge(0, 7 + FEE.fee), Charge(1, 5))


def test_bundle_whose_price_was_reversed_is_paid_again_once():
    ensemble, state = begun([0, 0, 5], None, {0: BUNDLE, 1: BUNDLE})
    state = observe_all(ensemble, state, (0, "value", 1.0), (1, "value", 1.0))

    after = reverse(ensemble, state, 0)
    again = observe_all(ensemble, after, (1, "value", 0.0), (0, "value", 0.0))

    assert (state.spent, after.spent) == (90, 0)
    assert again.charges == (Charge(1, 0), Charge(0, 90))


def test_charge_of_a_closed_session_can_be_reversed():
    ensemble, state = begun([7, 5])
    state = machine.stop(observe(ensemble, state, 0, "value", 1.0))

    after = reverse(ensemble, state, 0)

    assert (after.spent, after.stop_reason) == (0, "client_stopped")
    assert machine.is_closed(after)


def test_result_of_a_reversed_order_is_charged_when_it_comes():
    ensemble, state = begun([7, 5])
    state = reverse(ensemble, observe(ensemble, state, 0, "ordered"), 0)

    after = observe(ensemble, state, 0, "value", 1.0)

    assert state.pending == (0,)
    assert after.charges == (Charge(0, 7),)


STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1.0, None, "reverse"])),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["ordered", "sample", "panels"])
@at_most(25)
@given(steps=STEPS)
def test_accounts_hold_and_steps_can_be_told_whatever_is_reversed(policy, steps):
    ensemble = small_ensemble([1, 2, 3, 4], None, {0: FEE, 1: FEE})
    ensemble = replace(ensemble, panels=make_ladder(ensemble, [(1, 2, 0)]))
    state = machine.start(ensemble, 26, seed=3, policy=policy)
    for idx, value in steps:
        charged = [charge.feature_idx for charge in state.charges]
        if value == "reverse":
            state = reverse(ensemble, state, idx) if idx in charged else state
            continue
        outcome = "ordered" if value is None else "value"
        try:
            state = observe(ensemble, state, idx, outcome, value)
        except OverBudgetError:
            continue

    charged = [charge.feature_idx for charge in state.charges]
    told = trace_answers(ensemble, state)

    assert 0 <= state.spent <= 26
    assert len(set(charged)) == len(charged)
    assert len(told) == len(state.history)


def test_corrections_of_a_feature_come_to_an_end():
    ensemble, state = begun([7, 5])
    for turn in range(MAX_TAKEN):
        state = observe(ensemble, state, 0, "value", float(turn))

    with pytest.raises(AnswerError, match="start another"):
        observe(ensemble, state, 0, "value", -1.0)

    again = machine.observe(ensemble, state, [Answer(0, "value", MAX_TAKEN - 1.0)])
    assert again is state
