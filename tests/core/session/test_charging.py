"""Sessions: which answer is charged, and at which price."""

from dataclasses import replace

import pytest

from askless.core.catalogue.catalogue import UNSEEN
from askless.core.errors import AnswerError, OverBudgetError
from askless.core.session import machine
from askless.core.session.answers import count_questions, list_questions
from askless.core.session.state import Answer, Charge
from tests.sessions import (
    BLOOD,
    BUNDLE,
    ECHO,
    FEE,
    NEVER,
    begun,
    charged,
    observe,
    observe_all,
    small_ensemble,
)

IN_VAIN = ("unavailable", "refused", "unknown")


@pytest.mark.parametrize(("outcome", "value"), [("value", 1.0), ("ordered", None)])
def test_first_value_or_order_is_charged_at_the_price(outcome, value):
    ensemble, state = begun([7, 5])

    state = observe(ensemble, state, 0, outcome, value)

    assert state.charges == (Charge(0, 7),)
    assert (state.spent, state.remaining) == (7, 93)


def test_value_of_ordered_feature_is_not_charged_again():
    ensemble, state = begun([7, 5])

    state = observe_all(ensemble, state, (0, "ordered"), (0, "value", 1.0))

    assert charged(state) == {0: 7}
    assert [answer.charged for answer in state.history] == [7, 0]


@pytest.mark.parametrize("outcome", IN_VAIN)
def test_answer_without_value_is_free_and_not_asked_again(outcome):
    ensemble, state = begun([7, 5], hypotheses=[(0, 1.0), (1, 1.0), (0, 1.0)])

    state = observe(ensemble, state, 0, outcome)
    after = observe(ensemble, state, 1, "value", 1.0)

    assert state.charges == ()
    assert state.next_feature_idx == 1
    assert after.stop_reason == "all_known"


@pytest.mark.parametrize("outcome", IN_VAIN)
@pytest.mark.parametrize("answer", [("value", 1.0), ("ordered",)])
def test_correction_to_value_or_order_charges_the_price_now(outcome, answer):
    ensemble, state = begun([7, 5, 1], members=BLOOD)
    state = observe_all(ensemble, state, (0, outcome), (1, "value", 1.0))

    state = observe(ensemble, state, 0, *answer)

    assert charged(state) == {1: 5 + FEE.fee, 0: 7}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("value", 1.0), ("value", 0.0)),
        (("value", 1.0), ("ordered",)),
        *((("value", 1.0), (outcome,)) for outcome in IN_VAIN),
        *(
            ((case,), (other,))
            for case in IN_VAIN
            for other in IN_VAIN
            if case != other
        ),
    ],
)
def test_other_correction_is_free_and_keeps_the_old_answer_in_history(first, second):
    ensemble = small_ensemble([7, 5])
    before = observe(ensemble, machine.start(ensemble, 100), 0, *first)

    state = observe(ensemble, before, 0, *second)

    assert state.charges == before.charges
    assert state.history == (*before.history, Answer(0, *second))
    assert state.outcomes[0] == second[0]


def test_corrected_value_is_the_one_forecast_from():
    ensemble, state = begun([7, 5])

    state = observe_all(ensemble, state, (0, "value", 1.0), (0, "value", 0.0))

    assert state.values[0] == 0.0
    assert machine.forecast(ensemble, state).margin == -0.5


def test_value_taken_back_is_charged_once_when_it_returns():
    ensemble, state = begun([7, 5])

    state = observe_all(
        ensemble, state, (0, "value", 1.0), (0, "refused"), (0, "value", 0.0)
    )

    assert charged(state) == {0: 7}


@pytest.mark.parametrize("outcome", IN_VAIN)
def test_ordered_then_in_vain_keeps_charge_and_fee(outcome):
    ensemble, state = begun([7, 5, 1], members=BLOOD)

    state = observe_all(ensemble, state, (0, "ordered"), (0, outcome))

    assert charged(state) == {0: 7 + FEE.fee}
    assert machine.next_question(ensemble, state).price == 5


def test_known_feature_is_free_and_not_asked():
    ensemble = small_ensemble([7, 5])

    state = machine.start(ensemble, 100, known={0: 1.0})

    assert state.charges == ()
    assert (state.outcomes[0], state.values[0]) == ("known", 1.0)
    assert state.next_feature_idx == 1


def test_known_feature_pays_no_fee_for_its_group():
    ensemble = small_ensemble([7, 5], members=BLOOD)

    state = machine.start(ensemble, 100, known={0: 1.0})

    assert machine.next_question(ensemble, state).price == 5 + FEE.fee


def test_value_for_a_known_feature_is_free():
    ensemble, state = begun([7, 5], members=BLOOD, known={0: 1.0})

    state = observe(ensemble, state, 0, "value", 0.0)

    assert state.charges == ()
    assert machine.next_question(ensemble, state).price == 5 + FEE.fee


def test_ordering_a_known_feature_is_a_purchase_that_keeps_its_value_until_it_comes():
    ensemble, state = begun([7, 5], members=BLOOD, known={0: 1.0}, stop=NEVER)

    ordered = observe(ensemble, state, 0, "ordered")
    come = observe(ensemble, ordered, 0, "value", 0.0)

    assert charged(ordered) == charged(come) == {0: 7 + FEE.fee}
    assert (ordered.pending, ordered.values[0]) == ((0,), 1.0)
    assert machine.forecast(ensemble, ordered) == machine.forecast(ensemble, state)
    assert (come.pending, come.values[0]) == ((), 0.0)


@pytest.mark.parametrize("outcome", IN_VAIN)
def test_known_value_outlives_a_result_that_does_not_come(outcome):
    ensemble, state = begun([7, 5], known={0: 1.0})

    state = observe_all(ensemble, state, (0, "ordered"), (0, outcome))

    assert (state.outcomes[0], state.values[0]) == ("known", 1.0)
    assert charged(state) == {0: 7}


@pytest.mark.parametrize("outcome", IN_VAIN)
def test_known_value_is_not_erased_by_an_answer_without_one(outcome):
    ensemble, state = begun([7, 5], known={0: 1.0})

    with pytest.raises(AnswerError, match="f0: is known from the start"):
        observe(ensemble, state, 0, outcome)


def test_nothing_is_certain_while_a_known_value_may_still_change():
    ensemble, state = begun([7, 5], [(0, 3.0), (1, 1.0)], known={0: 1.0})

    ordered = observe(ensemble, state, 0, "ordered")

    assert (state.stop_reason, ordered.stop_reason) == ("certain", None)


def test_first_charged_member_pays_the_fee_and_later_ones_do_not():
    ensemble, state = begun([7, 5, 3], members={0: FEE, 1: FEE, 2: FEE})

    state = observe_all(
        ensemble, state, (0, "unavailable"), (1, "value", 1.0), (2, "ordered")
    )

    assert charged(state) == {1: 5 + FEE.fee, 2: 3}


def test_free_member_that_is_charged_first_pays_the_fee():
    ensemble, state = begun([0, 5], members=BLOOD)

    state = observe_all(ensemble, state, (0, "value", 1.0), (1, "value", 1.0))

    assert charged(state) == {0: FEE.fee, 1: 5}


def test_zero_price_is_a_charge_of_zero():
    ensemble, state = begun([0, 5], budget=0)

    state = observe(ensemble, state, 0, "value", 1.0)

    assert state.charges == (Charge(0, 0),)
    assert state.stop_reason == "budget_exhausted"


@pytest.mark.parametrize("answer", [("value", 1.0), ("ordered",)])
def test_first_charged_member_of_bundle_pays_and_the_others_become_pending(answer):
    ensemble, state = begun([0, 0, 0, 5], members=ECHO)

    state = observe(ensemble, state, 1, *answer)

    assert state.charges == (Charge(1, 90), Charge(0, 0), Charge(2, 0))
    assert set(state.pending) >= {0, 2}
    assert [question.charged for question in state.history[:1]] == [90]


def test_known_member_does_not_lower_the_price_of_its_bundle():
    ensemble, state = begun([0, 0, 0], members=ECHO, known={0: 1.0})

    state = observe(ensemble, state, 1, "value", 1.0)

    assert charged(state) == {1: 90, 2: 0}
    assert state.outcomes == ("known", "value", "ordered")


def test_member_in_vain_leaves_its_bundle_unpaid_and_is_free_once_another_pays_it():
    ensemble, state = begun([0, 0, 0], members=ECHO)

    paid = observe_all(ensemble, state, (0, "refused"), (1, "value", 1.0))
    after = observe(ensemble, paid, 0, "value", 1.0)

    assert charged(paid) == {1: 90, 2: 0}
    assert paid.outcomes == ("refused", "value", "ordered")
    assert charged(after) == {1: 90, 2: 0, 0: 0}


@pytest.mark.parametrize(
    "answer",
    [("value", 1.0), ("value", UNSEEN), ("ordered",), *((o,) for o in IN_VAIN)],
)
def test_same_answer_again_changes_nothing(answer):
    ensemble = small_ensemble([7, 5])
    state = observe(ensemble, machine.start(ensemble, 100), 0, *answer)

    again = observe(ensemble, state, 0, *answer)

    assert again is state


def test_known_value_given_again_is_free():
    ensemble, state = begun([7, 5], known={0: 1.0})

    again = observe(ensemble, state, 0, "value", 1.0)

    assert (again.spent, again.values[0]) == (0, 1.0)


def test_charge_over_budget_is_refused_with_its_figures():
    ensemble, state = begun([7, 500])
    before = replace(state)

    with pytest.raises(OverBudgetError) as refused:
        observe(ensemble, state, 1, "value", 1.0)

    error = refused.value
    assert (error.feature, error.price, error.remaining) == ("f1", 500, 100)
    assert repr(state) == repr(before)


def test_correction_over_budget_is_refused():
    ensemble, state = begun([7, 5], budget=10)
    state = observe_all(ensemble, state, (0, "unavailable"), (1, "ordered"))

    with pytest.raises(OverBudgetError):
        observe(ensemble, state, 0, "value", 1.0)


def test_charge_that_takes_all_that_remains_is_accepted():
    ensemble, state = begun([7, 5], budget=7)

    state = observe(ensemble, state, 0, "value", 1.0)

    assert state.remaining == 0


def test_unlimited_session_has_no_remaining():
    ensemble, state = begun([7, 10**15], budget=None)

    state = observe(ensemble, state, 1, "value", 1.0)

    assert state.remaining is None
    assert state.spent == 10**15


def test_questions_are_listed_once_a_purchase_by_the_first_feature_answered():
    ensemble = small_ensemble([0, 0, 10], members={0: BUNDLE, 1: BUNDLE})
    history = [Answer(1, "value", 1.0), Answer(2, "refused"), Answer(0, "value", 0.0)]

    assert list_questions(ensemble.catalogue, history) == (1, 2)
    assert count_questions(ensemble.catalogue, history) == 2
    assert list_questions(ensemble.catalogue, []) == ()
