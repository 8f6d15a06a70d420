"""What each answer did to the prediction, and what the next one may do."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.hypotheses import Stump
from askless.core.model.ladder.blends import KernelRidge
from askless.core.session import machine
from askless.core.session.policies import POLICIES
from askless.core.session.position import Position
from askless.core.session.state import Answer
from askless.core.session.steps import (
    N_TRIED,
    add_step_chances,
    compute_prospect,
    find_chances,
    to_log_odds,
    trace_answers,
)
from tests.levels import at_most
from tests.panels import make_ladder
from tests.sessions import BUNDLE, begun, observe, observe_all, small_ensemble
from tests.small import ensemble_of


def chances(ensemble, state):
    return machine.forecast(ensemble, state).probabilities


@pytest.mark.parametrize("policy", ["ordered", "sample", "panels"])
@at_most(20)
@given(answers=st.lists(st.sampled_from([0.0, 1.0, None]), min_size=1, max_size=4))
def test_each_step_is_what_the_session_said_before_and_after(policy, answers):
    ensemble = small_ensemble([1, 2, 3, 4], [(0, 1.0), (2, 0.8), (1, -0.7), (3, 0.2)])
    ensemble = replace(ensemble, panels=make_ladder(ensemble, [(1, 2, 0)]))
    state = machine.start(ensemble, 9, seed=3, policy=policy)
    said = [chances(ensemble, state)]
    for value in answers:
        if state.next_feature_idx is None:
            break
        outcome = "unavailable" if value is None else "value"
        state = observe(ensemble, state, state.next_feature_idx, outcome, value)
        said.append(chances(ensemble, state))

    steps = trace_answers(ensemble, state)

    assert [step.before for step in steps] == said[:-1]
    assert [step.after for step in steps] == said[1:]


@pytest.mark.parametrize("policy", ["ordered", "sample", "panels"])
@at_most(20)
@given(
    outcomes=st.lists(
        st.sampled_from(["zero", "one", "ordered", "refused", "other", "both", "stop"]),
        max_size=5,
    ),
    n_known=st.integers(0, 2),
)
def test_steps_that_are_remembered_are_those_of_the_session_played_again(
    policy, outcomes, n_known
):
    ensemble = small_ensemble([1, 2, 3, 4, 5], policy="ordered")
    ensemble = replace(ensemble, panels=make_ladder(ensemble, [(1, 2, 0, 4, 3)]))
    known = dict.fromkeys(range(n_known), 1.0)
    state = machine.start(ensemble, 11_000_000, 7, known, policy)

    for outcome in outcomes:
        state = move(ensemble, add_step_chances(ensemble, state), outcome)

    state = add_step_chances(ensemble, state)
    again = trace_answers(ensemble, replace(state, step_chances=()))
    assert trace_answers(ensemble, state) == again
    assert len(state.step_chances) == (1 + len(again) if state.is_led else 0)


def test_answers_of_a_bundle_are_predicted_once(monkeypatch):
    ensemble, state = begun(
        [0, 0, 0, 1], None, {0: BUNDLE, 1: BUNDLE}, known={2: 1.0, 3: 0.0}
    )
    before = add_step_chances(ensemble, state)
    answers = [Answer(0, "value", 1.0), Answer(1, "value", 0.0)]
    state = machine.observe(ensemble, before, answers)
    predicted, forecast = [], machine.forecast

    def count(*args):
        predicted.append(args)
        return forecast(*args)

    monkeypatch.setattr(machine, "forecast", count)
    state = add_step_chances(ensemble, state)

    assert state.is_led
    assert len(predicted) == len(answers)
    assert state.step_chances[:3] == before.step_chances
    again = trace_answers(ensemble, replace(state, step_chances=()))
    assert trace_answers(ensemble, state) == again
    assert find_chances(ensemble, state) == chances(ensemble, state)


def move(ensemble, state, outcome):
    """What was asked is answered, or something else happens."""
    idx = state.next_feature_idx
    if outcome == "stop":
        return machine.stop(state)
    if state.pending:
        return observe(ensemble, state, state.pending[0], "value", 1.0)
    if idx is None:
        return state
    if outcome == "other":
        return machine.change_budget(ensemble, state, None)
    if outcome == "both":
        others = [i for i, had in enumerate(state.outcomes) if had is None]
        answers = [Answer(i, "refused") for i in others[:2]]
        return machine.observe(ensemble, state, answers)
    value = {"zero": 0.0, "one": 1.0}.get(outcome)
    return observe(ensemble, state, idx, outcome if value is None else "value", value)


def test_log_odds_of_steps_add_up():
    ensemble, state = begun([1, 2, 3])
    state = observe_all(ensemble, state, (0, "value", 1.0), (1, "value", 0.0))

    steps = trace_answers(ensemble, state)

    total = sum(step.log_odds(1) for step in steps)
    whole = to_log_odds(steps[-1].after[1]) - to_log_odds(steps[0].before[1])
    assert total == pytest.approx(whole)


def test_known_values_are_steps_of_their_own():
    ensemble, state = begun([1, 2, 3], known={2: 1.0, 0: 0.0})

    steps = trace_answers(ensemble, state)

    assert [(step.feature_idx, step.outcome, step.value) for step in steps] == [
        (0, "known", 0.0),
        (2, "known", 1.0),
    ]
    assert steps[-1].after == chances(ensemble, state)


def test_known_value_that_is_corrected_counts_from_then_on():
    ensemble, state = begun([1, 2], known={0: 1.0})
    state = observe(ensemble, state, 0, "value", 0.0)

    steps = trace_answers(ensemble, state)

    assert [(step.outcome, step.value) for step in steps] == [("value", 0.0)]
    assert state.spent == 0


def test_answers_without_a_value_and_corrections_are_steps():
    ensemble, state = begun([1, 2])
    state = observe_all(
        ensemble, state, (0, "ordered"), (1, "refused"), (0, "value", 1.0)
    )
    state = observe(ensemble, state, 0, "value", 0.0)

    steps = trace_answers(ensemble, state)

    assert [step.value for step in steps] == [None, None, 1.0, 0.0]
    assert steps[-1].after == chances(ensemble, state)


def test_session_without_answers_has_no_steps():
    assert trace_answers(*begun([1])) == []


@pytest.mark.parametrize(
    ("chance", "expected"), [(0.0, -40.0), (1.0, 40.0), (0.5, 0.0), (0.75, math.log(3))]
)
def test_log_odds_are_bounded(chance, expected):
    assert to_log_odds(chance) == pytest.approx(expected)


def test_reach_is_from_the_worst_answer_to_the_best():
    ensemble, state = begun([1, 2, 3], [(0, 1.0), (1, -0.5), (2, 0.2)])

    prospect = compute_prospect(ensemble, state, 0)

    ends = [
        chances(ensemble, observe(ensemble, state, 0, "value", value))[1]
        for value in (0.0, 1.0)
    ]
    assert (prospect.class_idx, prospect.low, prospect.high) == (1, *ends)
    assert prospect.now == chances(ensemble, state)[1]


def test_reach_of_several_classes_is_of_the_one_predicted_now():
    stumps = [Stump(0, 0.5, (1, -1, -1)), Stump(1, 0.5, (-1, 1, -1))]
    ensemble = ensemble_of(stumps, n_classes=3, priors=(0.2, 0.5, 0.3))

    prospect = compute_prospect(ensemble, machine.start(ensemble, None), 0)

    assert prospect.class_idx == 1


def test_answer_that_moves_nothing_alone_has_no_prospect():
    ensemble = small_ensemble([1, 2, 3])
    ladder = make_ladder(ensemble, [(1, 2)])
    kept = [panel for panel in ladder.panels if len(panel.feature_idxs) != 1]
    ensemble = replace(
        ensemble, panels=replace(ladder, panels=tuple(kept)), policy="panels"
    )

    assert compute_prospect(ensemble, machine.start(ensemble, None), 1) is None


def test_number_of_which_nothing_is_known_has_no_prospect():
    ensemble = ensemble_of([], Catalogue((Feature("a"),)))

    assert compute_prospect(ensemble, machine.start(ensemble, None), 0) is None


def test_few_of_many_answers_are_tried():
    stumps = [Stump(0, float(cut), (1,)) for cut in range(100)]
    ensemble = ensemble_of(stumps)

    prospect = compute_prospect(ensemble, machine.start(ensemble, None), 0)

    assert N_TRIED < 100
    assert prospect.high == pytest.approx(1 / (1 + np.exp(-200)))


def test_bundle_has_the_reach_of_the_member_asked():
    ensemble, state = begun([0, 0, 5], None, {0: BUNDLE, 1: BUNDLE})

    assert compute_prospect(ensemble, state, 0).low < 0.5


def test_panels_suppose_to_the_bit_what_they_say_after_an_answer():
    n_features, random = 12, np.random.default_rng(3)
    ensemble = small_ensemble([1] * n_features, policy="panels")
    ladder = make_ladder(ensemble, [range(n_features)])
    waves = random.normal(size=(60, 1)), np.zeros(1)
    panels = []
    for panel in ladder.panels:
        if panel.blend is not None:
            stretches = np.ones(panel.blend.columns.codes.size)
            kernel = KernelRidge("laplace", 2.0, 5, stretches, *waves, 0.7)
            weights = np.array([*panel.blend.weights, 0.3])
            ridges = (*panel.blend.ridges, kernel)
            blend = replace(panel.blend, ridges=ridges, weights=weights)
            panels.append(replace(panel, blend=blend))
    ladder = replace(ladder, panels=(*panels, ladder.panels[-1]))
    ensemble = replace(ensemble, panels=ladder)
    state, values = machine.start(ensemble, None), random.normal(size=5)

    for idx in range(n_features - 1):
        position = Position.of(ensemble, state)
        supposed = POLICIES["panels"].predict_after(position, idx, values)
        after = [
            observe(ensemble, state, idx, "value", float(value)) for value in values
        ]
        told = [chances(ensemble, one) for one in after]
        assert [tuple(value) for value in supposed.tolist()] == told
        state = after[0]
