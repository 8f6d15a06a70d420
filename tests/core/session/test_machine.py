"""Sessions: which answers are accepted, and when a session stops."""

import pytest

from askless.core import kernels
from askless.core.errors import AnswerError, ClosedError, OverBudgetError
from askless.core.session import machine
from askless.core.session.answers import give_up_pending
from askless.core.session.state import Answer, StopRule
from askless.core.session.steps import trace_answers
from tests.sessions import (
    BLOOD,
    BUNDLE,
    begun,
    charged,
    observe,
    observe_all,
    small_ensemble,
)


def test_another_feature_than_the_one_asked_may_be_answered():
    ensemble, state = begun([7, 5, 3])

    state = observe(ensemble, state, 2, "value", 1.0)

    assert charged(state) == {2: 3}
    assert state.next_feature_idx == 0


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


def test_stopped_session_keeps_its_reason_when_stopped_again():
    stopped = machine.stop(machine.start(small_ensemble([5]), 0))

    assert stopped.stop_reason == "client_stopped"
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
    find_plan = kernels.compute_plan_length
    monkeypatch.setattr(
        kernels,
        "compute_plan_length",
        lambda *given: calls.append(given) or find_plan(*given),
    )

    state = observe(ensemble, state, 0, "value", 1.0)
    machine.next_question(ensemble, state)
    machine.forecast(ensemble, state)

    assert len(calls) == 1


def test_results_that_nobody_waits_for_are_unknown_and_stay_charged():
    ensemble, state = begun([7, 5, 3], known={1: 1.0})
    state = observe_all(ensemble, state, (0, "ordered"), (1, "ordered"))

    after = machine.stop(give_up_pending(ensemble.catalogue, state), "expired")

    assert machine.is_closed(after)
    assert after.outcomes == ("unknown", "known", None)
    assert (after.spent, after.values[1]) == (12, 1.0)
    assert len(trace_answers(ensemble, after)) == 4
