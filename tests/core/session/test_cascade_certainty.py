"""Certainty in cascades by brute force; their policies and documents."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.errors import RefusedError
from askless.core.model.ensemble import Cascade, Ensemble
from askless.core.model.hypotheses import Stump
from askless.core.session import machine
from askless.core.session.policies import check_policy
from askless.core.session.policies.cascade import stage_chances, stage_votes
from tests import strategies, twins
from tests.cascades import answer, cascades, grown, params_of, rare, staged, two_stages
from tests.conftest import IS_COMPILED
from tests.documents import through_json
from tests.sessions import NEVER, is_certain, observe
from tests.small import finish, train


@pytest.fixture(scope="module")
def ensemble():
    return grown(rare())


# Certainty.


def completions(ensemble: Ensemble, state):
    """Every state that answers can lead to; open features may stay open in between."""
    options = twins.all_options(ensemble)
    used = set(np.flatnonzero(ensemble.is_used).tolist())
    free = [i for i in used if state.outcomes[i] in (None, "ordered")]
    for chosen in product(*(options[idx] for idx in free)):
        row = list(state.values)
        for idx, value in zip(free, chosen, strict=True):
            row[idx] = math.nan if value is None else value
        yield row, free


MAX_COMPLETIONS = 300 if IS_COMPILED else 60


@given(st.data())
def test_once_certain_no_answers_change_vote_or_label(data):
    ensemble = data.draw(cascades(max_hypotheses=4))
    row = data.draw(strategies.tables(ensemble.catalogue, max_rows=1))[0]
    budget = data.draw(strategies.budgets())
    state = machine.start(ensemble, budget)
    while state.next_feature_idx is not None and state.stop_reason != "certain":
        state = answer(ensemble, state, row)
    if state.stop_reason != "certain":
        return
    now = machine.forecast(ensemble, state)

    for count, (completed, _) in enumerate(completions(ensemble, state)):
        after = state
        while after.next_feature_idx is not None:
            after = answer(ensemble, after, completed)
            then = machine.forecast(ensemble, after)
            assert (then.vote, then.label) == (now.vote, now.label)
        if count > MAX_COMPLETIONS:
            break


def test_certain_once_a_stage_must_reject():
    """Two of three stumps against it: the stage can't pass any more."""
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(3)]
    ensemble = staged(stumps, (1.0, 1.0, 1.0), (3,), (0.0,))
    state = machine.start(ensemble, None)
    state = observe(ensemble, state, 0, "value", 0.0)
    assert state.stop_reason is None

    state = observe(ensemble, state, 1, "value", 0.0)

    # The third may still be missing or against it, but not outweigh both.
    assert state.stop_reason == "certain"
    assert state.is_decided
    assert machine.forecast(ensemble, state).label == 0


def test_not_certain_while_what_was_known_at_the_start_is_on_its_way_again():
    """Its result may overturn all that follows from what is known."""
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(3)]
    ensemble = staged(stumps, (1.0, 1.0, 1.0), (3,), (0.0,))
    state = machine.start(ensemble, None, known={0: 0.0, 1: 0.0}, stop=NEVER)
    assert is_certain(ensemble, state)

    state = observe(ensemble, state, 0, "ordered")

    assert not is_certain(ensemble, state)


def test_not_certain_while_the_label_of_a_rejection_would_differ():
    """The stage must reject, but most rows that reach it are of the second class."""
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(3)]
    ensemble = staged(stumps, (1.0, 1.0, 1.0), (3,), (0.0,))
    (stage,) = ensemble.cascade.stages
    likely = Cascade((replace(stage, chance_reaching=0.8),), 0.9)
    ensemble = replace(ensemble, cascade=likely)
    state = machine.start(ensemble, None)
    for idx in (0, 1):
        state = observe(ensemble, state, idx, "value", 0.0)
    assert machine.forecast(ensemble, state).label == 1
    assert state.stop_reason is None

    state = observe(ensemble, state, 2, "value", 1.0)

    assert state.stop_reason == "rejected_early"
    assert machine.forecast(ensemble, state).label == 0


def test_certain_once_every_stage_must_pass():
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(2)]
    ensemble = staged(stumps, (1.0, 1.0), (1, 2), (0.0, -3.0))
    (first, second) = ensemble.cascade.stages
    likely = Cascade((first, replace(second, chance_reaching=0.6)), 0.9)
    ensemble = replace(ensemble, cascade=likely)
    state = machine.start(ensemble, None)
    assert state.stop_reason is None

    state = observe(ensemble, state, 0, "value", 1.0)

    # The second stage passes whatever it hears.
    assert state.stop_reason == "certain"
    assert machine.forecast(ensemble, state).label == 1


def test_not_certain_while_a_stage_may_be_gone_past_without_any_vote():
    """No value passes the first stage, but who lacks it is judged by the second."""
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(2)]
    ensemble = staged(stumps, (1.0, 1.0), (1, 2), (5.0, -3.0))

    assert machine.start(ensemble, None).stop_reason is None


def test_stage_gone_past_without_any_vote_leaves_certainty_to_the_next():
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(2)]
    ensemble = staged(stumps, (1.0, 1.0), (1, 2), (5.0, -3.0))
    first, second = ensemble.cascade.stages
    likely = Cascade((replace(first, chance_reaching=0.6), second), 0.9)
    ensemble = replace(ensemble, cascade=likely)
    state = machine.start(ensemble, None)
    assert state.stop_reason is None

    state = observe(ensemble, state, 0, "refused")

    # The second stage can't reject; with or without its vote the label is the same.
    assert state.stop_reason == "certain"
    assert machine.forecast(ensemble, state).label == 1


# Policies and the codec.


@pytest.mark.parametrize("name", ["cascade", "ordered", "sample"])
def test_policy_of_a_cascade_may_be_any(name):
    assert check_policy(name, two_stages(), "policy") == name


def test_policy_cascade_is_refused_where_there_is_none():
    ensemble = replace(two_stages(), cascade=None, policy="ordered")
    assert check_policy("sample", ensemble, "policy") == "sample"

    with pytest.raises(RefusedError, match=r"^policy: must be one of ordered, sample"):
        check_policy("cascade", ensemble, "policy")


def test_unknown_policy_is_refused():
    with pytest.raises(RefusedError, match=r"--policy: must be one of .*'best'"):
        check_policy("best", two_stages(), "--policy")


@pytest.mark.slow
def test_trained_cascade_survives_the_codec():
    model = finish(train(rare(12), params_of(false_alarm=0.7), folds=2, seed=1))

    assert through_json(model) == model
    assert model.params["detection"] == 0.9


def test_chances_follow_the_stages():
    ensemble = two_stages()
    codes = np.array([0, 1, 2, -1, -2])

    assert stage_chances(ensemble, codes)[:, 1] == pytest.approx(
        [0.2, 0.3, 0.9, 0.1, 0.11]
    )
    assert stage_votes(ensemble, codes).tolist() == [0, 0, 1, 0, 0]
