"""Which answers are of use: others are charged only where the caller insists."""

import pytest

from askless.core.errors import UselessAnswerError
from askless.core.session import machine
from askless.core.session.state import Answer
from askless.core.session.uses import (
    OpenFeatures,
    can_use,
    list_unanswered,
    sort_open_features,
)
from tests.sessions import BUNDLE, begun, observe

ECHO = dict.fromkeys(range(2), BUNDLE)


@pytest.mark.parametrize("answer", [("value", 1.0), ("ordered",)])
def test_useless_answer_is_not_charged(answer):
    ensemble, state = begun([7, 5], hypotheses=[(1, 1.0)])

    with pytest.raises(UselessAnswerError, match="f0: this answer can't be used"):
        machine.observe(ensemble, state, [Answer(0, *answer)])


def test_useless_answer_that_costs_nothing_is_taken():
    ensemble, state = begun([7, 5], hypotheses=[(1, 1.0)])

    state = machine.observe(ensemble, state, [Answer(0, "refused")])

    assert state.outcomes[0] == "refused"


def test_useless_answer_is_charged_where_one_insists():
    ensemble, state = begun([7, 5], hypotheses=[(1, 1.0)])

    state = machine.observe(
        ensemble, state, [Answer(0, "value", 1.0)], is_insistent=True
    )

    assert (state.spent, state.next_feature_idx) == (7, 1)


def test_useless_answer_is_corrected_without_insisting_again():
    ensemble, state = begun([7, 5], hypotheses=[(1, 1.0)])
    state = observe(ensemble, state, 0, "value", 1.0)

    after = machine.observe(ensemble, state, [Answer(0, "value", 0.0)])

    assert (after.values[0], after.spent) == (0.0, 7)


def test_useless_member_of_a_useful_bundle_is_charged():
    ensemble, state = begun([0, 0, 5], [(2, 1.0), (1, 1.0)], ECHO)

    state = machine.observe(ensemble, state, [Answer(0, "ordered")])

    assert state.spent == 90


def test_bundle_of_which_no_member_is_read_is_not_charged():
    ensemble, state = begun([0, 0, 5], [(2, 1.0)], ECHO)

    assert not can_use(ensemble, state, 0)
    with pytest.raises(UselessAnswerError):
        machine.observe(ensemble, state, [Answer(0, "ordered")])


def test_what_can_be_used_is_what_is_charged():
    ensemble, state = begun([7, 5, 3], hypotheses=[(1, 1.0), (2, 1.0)])

    assert [can_use(ensemble, state, idx) for idx in range(3)] == [False, True, True]


def test_open_features_are_those_that_are_read_and_have_no_answer():
    ensemble, state = begun([7, 5, 3], hypotheses=[(1, 1.0), (2, 1.0)])

    state = observe(ensemble, state, 2, "refused")

    assert list_unanswered(ensemble, state) == [1]


def test_open_features_are_of_use_and_paid_or_of_no_use_or_too_dear():
    ensemble, state = begun([7, 5, 30, 3, 4], [(1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0)])
    state = observe(ensemble, machine.change_budget(ensemble, state, 20), 4, "refused")

    assert sort_open_features(ensemble, state) == OpenFeatures(
        offered=[1, 3], useless=[0]
    )


def test_nothing_is_offered_once_a_session_has_ended():
    ensemble, state = begun([7, 5], hypotheses=[(1, 1.0)])

    assert sort_open_features(ensemble, machine.stop(state)) == OpenFeatures([], [])
