"""Advice to stop: `certain` against all that could still be answered."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import LEAF, Stump, Tree
from askless.core.session import machine
from askless.core.session.state import State, StopRule
from tests import strategies
from tests.hypotheses import later_states
from tests.sessions import observe, observe_value, small_ensemble
from tests.small import ensemble_of


def make_ensemble(
    hypotheses: Sequence[tuple[int, float]], costs=None, priors=(0.25, 0.75), **fields
) -> Ensemble:
    """Costs are 1 by default."""
    costs = costs or [1] * (1 + max(idx for idx, _ in hypotheses))
    return small_ensemble(costs, hypotheses, priors=priors, **fields)


def start_answered(ensemble, budget, answers, **fields) -> State:
    state = machine.start(ensemble, budget, **fields)
    for feature_idx, value in answers:
        state = observe_value(ensemble, state, feature_idx, value)
    return state


@pytest.mark.parametrize(
    ("value", "reason"), [(1.0, "certain"), (0.0, None), (math.nan, None)]
)
def test_tie_that_is_still_possible_counts_as_the_majority(value, reason):
    ensemble = make_ensemble([(0, 2.0), (1, 1.0), (2, 1.0)], priors=(0.25, 0.75))

    state = start_answered(ensemble, None, [(0, value)])

    assert state.stop_reason == reason


def test_certain_leaves_the_question_open():
    ensemble = make_ensemble([(0, 3.0), (1, 1.0)])

    state = start_answered(ensemble, None, [(0, 1.0)])

    assert (state.stop_reason, state.next_feature_idx) == ("certain", 1)


def test_certain_can_be_switched_off():
    ensemble = make_ensemble([(0, 3.0), (1, 1.0)])

    state = start_answered(ensemble, None, [(0, 1.0)], stop=StopRule(certain=False))

    assert state.stop_reason is None


def test_stumps_that_cancel_on_one_feature_leave_it_without_a_say():
    ensemble = make_ensemble([(0, 0.5), (1, 2.0), (1, -2.0)])

    state = start_answered(ensemble, None, [(0, 1.0)])

    assert state.stop_reason == "certain"


@pytest.mark.parametrize(("budget", "reason"), [(10, None), (9, "certain")])
@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_feature_that_cannot_be_paid_any_more_has_no_say(policy, budget, reason):
    hypotheses = [(0, 3.0), (1, 1.0), (2, 3.0)]
    ensemble = make_ensemble(hypotheses, costs=[1, 1, 9], priors=(0.75, 0.25))

    states = [
        start_answered(ensemble, budget, [(0, 1.0)], policy=policy, seed=seed)
        for seed in range(20)
    ]

    reasons = {s.stop_reason for s in states if s.next_feature_idx == 1}
    assert reasons == {reason}


def test_feature_beyond_the_plan_has_a_say_if_a_missing_one_would_extend_it():
    hypotheses = [(0, 2.0), (1, 1.0), (2, 3.0)]
    ensemble = make_ensemble(hypotheses, costs=[1, 2, 2])

    early, late = (
        start_answered(ensemble, 3, answers)
        for answers in ([(0, 1.0)], [(0, 1.0), (1, 1.0)])
    )

    assert early.stop_reason is None
    assert late.stop_reason == "budget_exhausted"


def test_pending_result_has_a_say():
    ensemble = make_ensemble([(0, 2.0), (1, 1.0), (2, 0.5)])
    state = machine.start(ensemble, None)

    waiting = observe(ensemble, state, 0, "ordered")
    waiting = observe_value(ensemble, waiting, 1, 1.0)
    certain = observe(ensemble, waiting, 0, "value", 1.0)

    assert (waiting.stop_reason, certain.stop_reason) == (None, "certain")


@pytest.mark.parametrize(("budget", "reason"), [(91, None), (90, "certain")])
def test_member_of_a_bundle_has_a_say_while_the_bundle_can_be_paid(budget, reason):
    ensemble = make_ensemble([(0, 1.0), (1, 0.5), (2, 3.0), (3, 3.0)])
    features = (
        *ensemble.catalogue.features[:2],
        Feature("f2", cost=0, group="echo"),
        Feature("f3", cost=0, group="echo"),
    )
    catalogue = Catalogue(features, (Group("echo", price=90),))
    ensemble = replace(ensemble, catalogue=catalogue)

    state = start_answered(ensemble, budget, [(0, 1.0)])

    assert state.stop_reason == reason


def test_fixed_vote_with_an_open_label_is_not_certain():
    fitted = strategies.calibration(slope=0.4)
    ensemble = make_ensemble(
        [(0, 3.0), (1, 2.0)],
        calibrations=(("ordered", fitted),),
        error_costs=((0.0, 9.0), (1.0, 0.0)),
    )

    state = start_answered(ensemble, None, [(0, 1.0)])
    labels = {
        machine.forecast(ensemble, observe_value(ensemble, state, 1, value)).label
        for value in (0.0, 1.0)
    }

    assert state.stop_reason is None
    assert labels == {0, 1}


@pytest.mark.parametrize(
    ("cost", "reason", "labels"), [(20.0, "certain", {0}), (40.0, None, {0, 1})]
)
def test_costly_error_keeps_the_label_of_three_classes_open(cost, reason, labels):
    ensemble = ensemble_of(
        [Stump(0, 0.5, (1, -1, -1)), Stump(1, 0.5, (-1, 1, -1))],
        n_classes=3,
        alphas=(2.0, 0.5),
        priors=(0.4, 0.3, 0.3),
        error_costs=((0.0, 1.0, 1.0), (cost, 0.0, 1.0), (1.0, 1.0, 0.0)),
    )

    state = start_answered(ensemble, None, [(0, 1.0)])
    reached = {
        machine.forecast(ensemble, observe_value(ensemble, state, 1, value)).label
        for value in (0.0, 1.0, math.nan)
    }

    assert state.stop_reason == reason
    assert reached == labels


@pytest.mark.parametrize("offset", [-6.0, 0.0])
def test_label_is_not_certain_between_the_prior_of_a_tie_and_a_full_margin(offset):
    fitted = strategies.calibration((offset,), 2.5)
    ensemble = make_ensemble(
        [(0, 1.0), (1, 1.0)], calibrations=(("ordered", fitted),), priors=(0.25, 0.75)
    )

    state = start_answered(ensemble, None, [(0, 1.0)])
    labels = {
        machine.forecast(ensemble, reached).label
        for reached in later_states(ensemble, state)
    }

    assert state.stop_reason == ("certain" if len(labels) == 1 else None)


def sampling_until_certain() -> tuple[Ensemble, State]:
    """A session whose draws so far, and later, are not like the full vote."""
    ensemble = make_ensemble([(0, 2.0), (1, 1.0), (2, 0.5)], costs=[1, 2, 2])
    ensemble = replace(ensemble, policy="sample")
    state = start_answered(ensemble, 3, [(0, 1.0)], seed=9)
    assert state.stop_reason == "certain"
    return ensemble, state


@pytest.mark.parametrize("reason", ["client_stopped", "expired"])
def test_sample_stopped_once_certain_keeps_its_forecast(reason):
    ensemble, state = sampling_until_certain()

    stopped = machine.stop(state, reason)

    assert machine.forecast(ensemble, stopped) == machine.forecast(ensemble, state)


def test_sample_that_spends_all_once_certain_keeps_its_vote():
    ensemble, state = sampling_until_certain()

    spent = observe_value(ensemble, state, 1, 0.0)

    assert spent.stop_reason == "budget_exhausted"
    assert (
        machine.forecast(ensemble, spent).vote == machine.forecast(ensemble, state).vote
    )


@pytest.mark.parametrize(("confidence", "reason"), [(0.73, "confident"), (0.74, None)])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_confident_once_the_probability_of_the_label_is_reached(
    value, confidence, reason
):
    # The vote so far is 1/2: p = 1/(1 + exp(-1)) = 0.731.
    ensemble = make_ensemble([(0, 0.5), (1, 1.0)])
    rule = StopRule(certain=False, confidence=confidence)

    state = start_answered(ensemble, None, [(0, value)], stop=rule)

    assert state.stop_reason == reason


def test_confidence_is_that_of_the_label_and_not_of_the_vote():
    ensemble = make_ensemble(
        [(0, 1.0), (1, 0.5)], error_costs=((0.0, 99.0), (1.0, 0.0))
    )
    rule = StopRule(certain=False, confidence=0.6)

    state = start_answered(ensemble, None, [(0, 1.0)], stop=rule)

    forecast = machine.forecast(ensemble, state)
    assert (forecast.label, forecast.vote, state.stop_reason) == (0, 1, None)
    assert forecast.probabilities[1] > 0.6


def test_confident_is_withdrawn_when_the_next_answer_takes_it_away():
    ensemble = make_ensemble([(0, 1.0), (1, 1.0), (2, 1.0)], priors=(0.5, 0.5))
    rule = StopRule(certain=False, confidence=0.55)

    one, two = (
        start_answered(ensemble, None, answers, stop=rule)
        for answers in ([(0, 0.0)], [(0, 0.0), (1, 1.0)])
    )

    assert (one.stop_reason, two.stop_reason) == ("confident", None)


@pytest.mark.parametrize(
    ("budget", "rule", "n_answers", "reason"),
    [
        (None, StopRule(confidence=0.5), 1, "certain"),
        (None, StopRule(certain=False, confidence=0.5), 1, "confident"),
        (None, StopRule(confidence=0.5, max_questions=1), 1, "max_questions"),
        (1, StopRule(confidence=0.5, max_questions=1), 1, "budget_exhausted"),
        (2, StopRule(confidence=0.5, max_questions=2), 2, "all_known"),
    ],
)
def test_end_goes_before_advice_and_certain_before_confident(
    budget, rule, n_answers, reason
):
    ensemble = make_ensemble([(0, 3.0), (1, 1.0)])
    answers = [(0, 1.0), (1, 1.0)][:n_answers]

    state = start_answered(ensemble, budget, answers, stop=rule)

    assert state.stop_reason == reason


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_tree_is_bounded_by_what_the_budget_can_still_read_of_it(policy):
    # Below the root lies a feature that the budget never pays.
    stumps = (Stump(0, 0.5, (1,)), Stump(1, 0.5, (-1,)))
    catalogue = Catalogue((Feature("cheap", cost=1), Feature("dear", cost=100)))
    tree = Tree(stumps, ((1, LEAF), (LEAF, LEAF)))
    ensemble = ensemble_of([tree], catalogue, policy=policy)

    opened = machine.start(ensemble, 5)
    answered = observe(ensemble, opened, 0, "value", 1.0)

    assert opened.next_feature_idx == 0
    assert opened.stop_reason is None
    assert answered.stop_reason == "budget_exhausted"
    assert machine.forecast(ensemble, answered).label == 1
