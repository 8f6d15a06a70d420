"""Empty answers: what they cost by billing, and what a seller settles."""

from dataclasses import replace

import pytest

from askless.core.catalogue.catalogue import Group
from askless.core.errors import OverBudgetError, UselessAnswerError
from askless.core.session import machine
from askless.core.session.certainty import is_vote_certain
from askless.core.session.machine import hold, take_purchase
from askless.core.session.position import Position
from askless.core.session.state import Answer, Charge, Purchase
from askless.core.session.steps import trace_answers
from tests.sessions import (
    FEE,
    NEVER,
    bill_by_call,
    observe,
    observe_all,
    small_ensemble,
)

MISS = "miss"
ECHO = Group("echo", price=90, billing="per_call")


def billed(costs, per_call=(0,), members=None, **fields):
    """A small ensemble some of whose features are billed by call."""
    return bill_by_call(small_ensemble(costs, members=members, **fields), per_call)


def begin(costs, budget=100, **options):
    ensemble = billed(costs, **options)
    return ensemble, machine.start(ensemble, budget, stop=NEVER)


def test_an_empty_answer_is_charged_if_billed_by_call():
    ensemble, state = begin([7, 5])

    state = observe_all(ensemble, state, (0, "unavailable"), (1, "unavailable"))

    assert state.charges == (Charge(0, 7, MISS),)
    assert (state.spent, state.remaining) == (7, 93)
    assert [answer.charged for answer in state.history] == [7, 0]


@pytest.mark.parametrize("outcome", ["refused", "unknown"])
def test_what_nobody_was_asked_for_is_free(outcome):
    ensemble, state = begin([7, 5])

    state = observe(ensemble, state, 0, outcome)

    assert state.charges == ()
    assert observe(ensemble, state, 0, "unavailable").charges == (Charge(0, 7, MISS),)


def test_a_miss_is_charged_once():
    ensemble, state = begin([7, 5])

    state = observe_all(
        ensemble, state, *((0, word) for word in ("unavailable", "unknown") * 2)
    )

    assert state.charges == (Charge(0, 7, MISS),)


@pytest.mark.parametrize("answer", [("value", 1.0), ("ordered",)])
def test_a_value_after_a_miss_is_charged_too(answer):
    ensemble, state = begin([7, 5])

    state = observe_all(ensemble, state, (0, "unavailable"), (0, *answer))
    after = observe(ensemble, state, 0, "unavailable")

    assert state.charges == (Charge(0, 7, MISS), Charge(0, 7))
    assert after.charges == state.charges


def test_an_ordered_result_that_does_not_come_is_charged_once():
    ensemble, state = begin([7, 5])

    state = observe_all(ensemble, state, (0, "ordered"), (0, "unavailable"))

    assert state.charges == (Charge(0, 7),)


def test_an_order_of_what_is_known_pays_for_its_empty_answer():
    ensemble = billed([7, 5])
    state = machine.start(ensemble, 100, known={0: 1.0})

    state = observe_all(ensemble, state, (0, "ordered"), (0, "unavailable"))
    state = machine.reverse(ensemble, state, 0)

    # The value that was known counts again.
    assert (state.charges, state.outcomes[0]) == ((), "known")


def test_a_miss_pays_the_fee_of_its_group():
    members = {0: FEE, 1: FEE}
    ensemble, state = begin([7, 5, 1], members=members)

    state = observe_all(ensemble, state, (0, "unavailable"), (1, "value", 1.0))

    assert state.charges == (Charge(0, 7 + FEE.fee, MISS), Charge(1, 5))


def test_a_bundle_that_misses_pays_its_price_once():
    ensemble, state = begin([0, 0, 3], per_call=(), members={0: ECHO, 1: ECHO})

    state = observe(ensemble, state, 1, "unavailable")
    after = observe(ensemble, state, 0, "value", 1.0)

    assert state.charges == (Charge(1, 90, MISS), Charge(0, 0))
    assert (state.outcomes[0], state.pending) == ("ordered", (0,))
    assert after.charges == state.charges


def test_a_bundle_that_missed_is_not_paid():
    ensemble, state = begin(
        [0, 0, 3], budget=None, per_call=(), members={0: ECHO, 1: ECHO}
    )

    state = observe_all(
        ensemble, state, (1, "unavailable"), (0, "unavailable"), (1, "value", 1.0)
    )

    assert state.charges == (Charge(1, 90, MISS), Charge(0, 0), Charge(1, 90))


def test_the_budget_holds_for_misses():
    ensemble, state = begin([7, 5], budget=6)

    with pytest.raises(OverBudgetError):
        observe(ensemble, state, 0, "unavailable")

    assert observe(ensemble, state, 1, "unavailable").charges == ()


def test_a_miss_of_no_use_is_refused_and_one_of_use_is_not():
    ensemble = billed([7, 5, 3], (0, 1, 2), hypotheses=[(0, 1.0), (1, 1.0)])
    state = machine.start(ensemble, 100, stop=NEVER)

    after = machine.observe(ensemble, state, [Answer(1, "unavailable")])
    with pytest.raises(UselessAnswerError):
        machine.observe(ensemble, state, [Answer(2, "unavailable")])

    assert state.next_feature_idx == 0
    assert after.charges == (Charge(1, 5, MISS),)


def test_a_miss_is_reversed_apart_from_the_value():
    ensemble, state = begin([7, 5])
    state = observe_all(ensemble, state, (0, "unavailable"), (0, "value", 1.0))

    assert machine.reverse(ensemble, state, 0, MISS).charges == (Charge(0, 7),)
    assert machine.reverse(ensemble, state, 0).charges == (Charge(0, 7, MISS),)


def test_steps_count_a_miss_from_its_answer_on():
    # What is left pays feature 1 before the value of feature 0 is charged, too.
    ensemble = billed([7, 5], hypotheses=[(0, 1.0), (1, -2.0)])
    state = machine.start(ensemble, 17, stop=NEVER)
    state = observe(ensemble, state, 0, "unavailable")
    first = machine.forecast(ensemble, state).probabilities

    state = observe(ensemble, state, 0, "value", 1.0)
    steps = trace_answers(ensemble, state)

    assert steps[0].after == first
    assert steps[-1].after == machine.forecast(ensemble, state).probabilities


def test_a_seller_settles_a_value_at_its_own_price():
    ensemble, state = begin([7, 5])
    answers = (Answer(0, "value", 1.0),)

    after = take_purchase(ensemble, state, Purchase(0, 9, "charge", answers, "firmo"))

    assert after.charges == (Charge(0, 9, provider="firmo"),)
    assert after.history == (Answer(0, "value", 1.0, 9, 1.0),)
    assert (after.outcomes[0], after.next_feature_idx) == ("value", 1)
    assert after.is_led


def test_a_seller_settles_a_miss_that_leaves_the_offer_open():
    ensemble, state = begin([7, 5])

    after = take_purchase(ensemble, state, Purchase(0, 9, MISS, (), "firmo"))
    again = take_purchase(ensemble, after, Purchase(0, 8, MISS, (), "geo"))

    assert again.charges == (Charge(0, 9, MISS, "firmo"), Charge(0, 8, MISS, "geo"))
    assert (after.outcomes, after.next_feature_idx) == ((None, None), 0)
    assert after.spent == 9
    reversed_state = machine.reverse(ensemble, again, 0, MISS, "geo")
    assert reversed_state.charges == after.charges
    # A miss that a seller was paid for is not charged again.
    assert observe(ensemble, again, 0, "unavailable").charges == again.charges


def test_an_empty_answer_that_costs_nothing_has_no_charge():
    ensemble, state = begin([7, 5], per_call=())
    answers = (Answer(0, "unavailable"),)

    after = take_purchase(ensemble, state, Purchase(0, 0, MISS, answers, "firmo"))

    assert after.charges == ()
    assert (after.outcomes[0], after.next_feature_idx) == ("unavailable", 1)


def test_a_value_had_for_nothing_is_never_charged():
    ensemble, state = begin([7, 5])
    answers = (Answer(0, "value", 1.0),)

    state = take_purchase(ensemble, state, Purchase(0, 0, "charge", answers, "firmo"))
    state = observe(ensemble, state, 0, "value", 0.0)

    assert state.spent == 0


@pytest.mark.parametrize("kind", ["charge", MISS])
def test_a_seller_settles_a_bundle_whole(kind):
    ensemble, state = begin([0, 0, 3], per_call=(), members={0: ECHO, 1: ECHO})
    outcome = ("value", 1.0) if kind == "charge" else ("unavailable",)
    answers = (Answer(1, "unavailable"), Answer(0, *outcome))

    after = take_purchase(ensemble, state, Purchase(0, 60, kind, answers, "lab"))
    corrected = observe(ensemble, after, 1, "value", 1.0)

    seller = "lab" if kind == "charge" else None
    assert after.charges == (Charge(0, 60, kind, "lab"), Charge(1, 0, provider=seller))
    assert after.outcomes[:2] == (outcome[0], "unavailable")
    assert [answer.charged for answer in after.history] == [60, 0]
    # Another price than the catalogue's has bought it all the same.
    assert corrected.spent == 60
    is_paid = Position.of(ensemble, after).case.is_group_paid.tolist()
    assert is_paid == [kind == "charge"]


def test_what_is_known_is_not_discarded_by_an_empty_answer():
    ensemble = billed([7, 5])
    state = machine.start(ensemble, 100, known={0: 1.0})
    answers = (Answer(0, "unavailable"),)

    after = take_purchase(ensemble, state, Purchase(0, 7, MISS, answers, "firmo"))

    assert (after.outcomes[0], after.values[0], after.spent) == ("known", 1.0, 7)


def test_an_ended_session_takes_what_was_bought():
    ensemble, state = begin([7, 5], budget=7)
    state = machine.stop(state)
    answers = (Answer(1, "value", 1.0),)

    after = take_purchase(ensemble, state, Purchase(1, 9, "charge", answers, "firmo"))

    assert (after.spent, after.outcomes[1]) == (9, "value")
    assert (after.is_ended, after.is_led) == (True, False)


def test_what_is_held_is_not_spent_twice():
    ensemble, state = begin([7, 5], budget=10)

    held = hold(ensemble, state, 4)
    after = hold(ensemble, held, 0)

    assert (held.remaining, held.next_feature_idx) == (6, None)
    assert (after.remaining, after.next_feature_idx) == (10, 0)
    assert not is_vote_certain(Position.of(ensemble, state), None)


def test_a_run_ends_its_session_for_the_reason_that_it_has():
    ensemble, state = begin([7, 5])
    advised = replace(state, stop_reason="certain")

    ended = machine.finish(advised)

    assert (ended.stop_reason, ended.next_feature_idx) == ("certain", None)
    assert machine.finish(state).stop_reason == "plan_complete"
    assert machine.finish(ended) is ended
    assert machine.decide_next_step(ensemble, ended) is ended
