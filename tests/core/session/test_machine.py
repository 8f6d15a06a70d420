"""Sessions: charging, stopping and asking, rule by rule."""

from dataclasses import replace

import pytest

from core import kernels
from core.errors import AnswerError, ClosedError, OverBudgetError
from core.model.ensemble import Ensemble
from core.session import machine
from core.session.answers import give_up
from core.session.state import Answer, Charge, State, StopRule
from core.session.steps import trace_answers
from core.table.catalogue import UNSEEN
from tests.sessions import (
    BUNDLE,
    FEE,
    NEVER,
    begun,
    observe,
    observe_all,
    small_ensemble,
)

IN_VAIN = ("unavailable", "refused", "unknown")
BLOOD = {0: FEE, 1: FEE}
ECHO = dict.fromkeys(range(3), BUNDLE)


def charged(state: State) -> dict[int, int]:
    return {charge.feature_idx: charge.amount for charge in state.charges}


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
        *(((one,), (other,)) for one in IN_VAIN for other in IN_VAIN if one != other),
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
    assert state.history == (Answer(1, *answer, charged=90),) or answer == ("ordered",)


def test_known_member_does_not_lower_the_price_of_its_bundle():
    ensemble, state = begun([0, 0, 0], members=ECHO, known={0: 1.0})

    state = observe(ensemble, state, 1, "value", 1.0)

    assert charged(state) == {1: 90, 2: 0}
    assert state.outcomes == ("known", "value", "ordered")


def test_member_in_vain_leaves_its_bundle_unpaid():
    ensemble, state = begun([0, 0, 0], members=ECHO)

    state = observe_all(ensemble, state, (0, "refused"), (1, "value", 1.0))

    assert charged(state) == {1: 90, 2: 0}
    assert state.outcomes == ("refused", "value", "ordered")


def test_member_in_vain_that_comes_after_all_is_free_once_its_bundle_is_paid():
    ensemble, state = begun([0, 0, 0], members=ECHO)

    state = observe_all(
        ensemble, state, (0, "refused"), (1, "value", 1.0), (0, "value", 1.0)
    )

    assert charged(state) == {1: 90, 2: 0, 0: 0}


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


def test_another_feature_than_the_one_asked_may_be_answered():
    ensemble, state = begun([7, 5, 3])

    state = observe(ensemble, state, 2, "value", 1.0)

    assert charged(state) == {2: 3}
    assert state.next_feature_idx == 0


def test_feature_no_hypothesis_reads_may_be_answered():
    ensemble, state = begun([7, 5], hypotheses=[(1, 1.0)])

    state = observe(ensemble, state, 0, "value", 1.0)

    assert charged(state) == {0: 7}
    assert state.next_feature_idx == 1


@pytest.mark.parametrize(
    "answer", [("value", None), ("ordered", 1.0), ("refused", 0.0)]
)
def test_value_comes_exactly_with_the_outcome_value(answer):
    ensemble, state = begun([7, 5])

    with pytest.raises(AnswerError, match="f0: a value is given exactly when"):
        observe(ensemble, state, 0, *answer)


def test_late_result_is_taken_after_the_last_question():
    ensemble = small_ensemble([7])

    state = observe(ensemble, machine.start(ensemble, 7), 0, "ordered")

    assert not machine.is_closed(state)
    assert machine.next_question(ensemble, state) is None
    after = observe(ensemble, state, 0, "value", 1.0)
    assert (after.stop_reason, after.values[0]) == ("all_known", 1.0)


def test_corrections_are_accepted_while_a_result_is_pending():
    ensemble, state = begun([7, 5])
    state = observe_all(ensemble, state, (0, "value", 1.0), (1, "ordered"))

    state = observe(ensemble, state, 0, "value", 0.0)

    assert state.values[0] == 0.0


@pytest.mark.parametrize(
    "answer", [(0, "value", 0.0), (1, "value", 1.0), (1, "unknown"), (2, "unknown")]
)
def test_closed_session_takes_no_answer(answer):
    ensemble = small_ensemble([7, 50, 60])
    state = observe(ensemble, machine.start(ensemble, 100), 0, "value", 1.0)

    with pytest.raises(ClosedError):
        observe(ensemble, machine.stop(state), *answer)


def test_stopped_session_that_waits_takes_no_new_feature():
    ensemble = small_ensemble([7, 50, 3])
    state = observe(ensemble, machine.start(ensemble, 10), 0, "ordered")

    with pytest.raises(ClosedError):
        observe(ensemble, machine.stop(state), 2, "value", 1.0)


def test_advice_to_stop_locks_nothing():
    ensemble = small_ensemble([7, 50, 3])
    state = observe(ensemble, machine.start(ensemble, 10), 0, "value", 1.0)
    assert (state.stop_reason, state.next_feature_idx) == ("plan_complete", None)

    volunteered = observe(ensemble, state, 2, "value", 1.0)
    corrected = observe(ensemble, volunteered, 0, "value", 0.0)

    assert volunteered.spent == 10
    assert corrected.values[0] == 0.0


@pytest.mark.parametrize("reason", ["client_stopped", "expired"])
def test_stop_from_outside_ends_the_session_for_good(reason):
    ensemble = small_ensemble([7, 5, 3])
    state = observe(ensemble, machine.start(ensemble, 100), 0, "ordered")

    stopped = machine.stop(state, reason)
    after = observe(ensemble, stopped, 0, "value", 1.0)

    assert (stopped.stop_reason, after.stop_reason) == (reason, reason)
    assert stopped.next_feature_idx is None
    assert (machine.is_closed(stopped), machine.is_closed(after)) == (False, True)


def test_session_is_stopped_by_the_client_unless_told_otherwise():
    state = machine.start(small_ensemble([7, 5]), 100)

    stopped = machine.stop(state)

    assert stopped.stop_reason == "client_stopped"
    assert machine.is_closed(stopped)


def test_session_advises_to_stop_after_max_questions():
    ensemble, state = begun([7, 5, 3], stop=StopRule(max_questions=2))

    one = observe(ensemble, state, 0, "unavailable")
    two = observe(ensemble, one, 1, "value", 1.0)

    assert (one.stop_reason, two.stop_reason) == (None, "max_questions")
    assert two.next_feature_idx == 2


def test_zero_questions_are_too_many_at_the_start():
    state = machine.start(small_ensemble([7]), 100, stop=StopRule(max_questions=0))

    assert state.stop_reason == "max_questions"


def test_corrections_do_not_count_as_questions():
    ensemble, state = begun([7, 5, 3], stop=StopRule(max_questions=2))

    state = observe_all(ensemble, state, (0, "ordered"), (0, "value", 1.0))

    assert state.stop_reason is None


def test_members_of_a_bundle_count_as_one_question():
    ensemble, state = begun(
        [0, 0, 5, 3], members={0: BUNDLE, 1: BUNDLE}, stop=StopRule(max_questions=2)
    )

    state = observe_all(ensemble, state, (0, "value", 1.0), (1, "value", 1.0))

    assert state.stop_reason != "max_questions"
    assert machine.next_question(ensemble, state).number == 2


def test_question_says_what_it_asks_and_at_which_price():
    ensemble = small_ensemble(
        [7, 5, 3], members={1: FEE, 2: FEE}, hypotheses=[(1, 1.0), (2, 2.0), (1, -1.0)]
    )
    state = machine.start(ensemble, 100)

    question = machine.next_question(ensemble, state)

    assert (question.number, question.feature_idx, question.feature_idxs) == (
        1,
        1,
        (1,),
    )
    assert (question.price, question.is_group_paid) == (25, False)
    assert (question.n_hypotheses, question.open_share) == (2, 0.5)
    assert question.alternatives == ((2, 23),)


def test_question_knows_that_the_fee_is_paid():
    ensemble = small_ensemble([7, 5], members=BLOOD)
    state = observe(ensemble, machine.start(ensemble, 100), 0, "value", 1.0)

    question = machine.next_question(ensemble, state)

    assert (question.price, question.is_group_paid) == (5, True)


def test_question_about_a_bundle_names_all_its_open_members():
    ensemble, state = begun([0, 0, 0], members=ECHO, known={0: 1.0})

    question = machine.next_question(ensemble, state)

    assert (question.feature_idxs, question.price) == ((1, 2), 90)


def test_share_of_question_is_of_the_plan_for_ordered_and_of_all_for_sample():
    ensemble = small_ensemble([1, 100], hypotheses=[(0, 1.0), (1, 3.0)])

    shares = {
        policy: machine.next_question(
            ensemble, machine.start(ensemble, 10, policy=policy, seed=seed)
        ).open_share
        for policy, seed in (("ordered", 0), ("sample", seed_that_asks_first(ensemble)))
    }

    assert shares == {"ordered": 1.0, "sample": 0.25}


def seed_that_asks_first(ensemble: Ensemble) -> int:
    return next(
        seed
        for seed in range(100)
        if machine.start(ensemble, 10, policy="sample", seed=seed).next_feature_idx == 0
    )


def test_alternatives_are_open_affordable_features_that_hypotheses_read():
    ensemble = small_ensemble(
        [1, 2, 3, 500, 4], hypotheses=[(0, 1.0), (3, 1.0), (2, 1.0), (1, 1.0), (2, 1.0)]
    )
    state = machine.start(ensemble, 10, known={1: 0.0})

    question = machine.next_question(ensemble, state)

    assert question.alternatives == ((2, 3),)


def test_stopped_session_keeps_its_reason_when_stopped_again():
    stopped = machine.stop(machine.start(small_ensemble([5]), 0))

    assert machine.stop(stopped, "expired") is stopped


def test_answers_of_one_request_are_taken_in_order_and_advance_once():
    ensemble, state = begun([7, 5, 3], members=BLOOD)
    answers = [Answer(1, "value", 1.0), Answer(0, "ordered"), Answer(2, "refused")]

    state = machine.observe(ensemble, state, answers)

    assert charged(state) == {1: 25, 0: 7}
    assert [answer.feature_idx for answer in state.history] == [1, 0, 2]


def test_answers_of_one_request_are_all_taken_or_none():
    ensemble, state = begun([7, 5, 300])
    before = repr(state)

    with pytest.raises(OverBudgetError):
        machine.observe(
            ensemble, state, [Answer(0, "value", 1.0), Answer(2, "value", 1.0)]
        )

    assert repr(state) == before


@pytest.mark.parametrize("policy", ["ordered", "sample_reyzin"])
@pytest.mark.parametrize(
    ("costs", "budget", "reason"),
    [
        # The second hypothesis is too dear, the third would fit.
        ([1, 50, 2], 9, "plan_complete"),
        ([1, 50, 20], 9, "budget_exhausted"),
        ([1, 50, 20], None, "all_known"),
    ],
)
def test_reason_says_whether_more_could_be_bought(policy, costs, budget, reason):
    alphas = [1.0, 1e9, 1e-6]
    ensemble = small_ensemble(costs, list(enumerate(alphas)))
    known = {0: 1.0} if budget else {0: 1.0, 1: 1.0, 2: 1.0}

    state = machine.start(ensemble, budget, known=known, policy=policy)

    assert state.stop_reason == reason


def test_state_computes_its_plan_once(monkeypatch):
    ensemble = small_ensemble([7, 5, 3])
    state, calls = machine.start(ensemble, 100, stop=StopRule(confidence=0.9)), []
    find_plan = kernels.find_plan
    monkeypatch.setattr(
        kernels, "find_plan", lambda *given: calls.append(given) or find_plan(*given)
    )

    state = observe(ensemble, state, 0, "value", 1.0)
    machine.next_question(ensemble, state)
    machine.forecast(ensemble, state)

    assert len(calls) == 1


def test_results_that_nobody_waits_for_are_unknown_and_stay_charged():
    ensemble, state = begun([7, 5, 3], known={1: 1.0})
    state = observe_all(ensemble, state, (0, "ordered"), (1, "ordered"))

    after = machine.stop(give_up(ensemble.catalogue, state), "expired")

    assert machine.is_closed(after)
    assert after.outcomes == ("unknown", "known", None)
    assert (after.spent, after.values[1]) == (12, 1.0)
    assert len(trace_answers(ensemble, after)) == 4
