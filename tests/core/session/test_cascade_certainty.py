"""Certainty in cascades by brute force; their policies and documents."""

import json
import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.documents.model import model_from_json, model_to_json
from core.errors import RefusedError
from core.model.ensemble import Cascade, Ensemble
from core.model.hypotheses import Stump
from core.model.model import Model
from core.session import machine
from core.session.policies import check_policy
from core.session.probability import stage_chances, stage_votes
from tests import strategies
from tests import strategies_classes as made
from tests.cascades import (
    answer,
    cascades,
    grown,
    params_of,
    rare,
    staged,
    through_json,
    two_stages,
)
from tests.conftest import IS_COMPILED
from tests.sessions import NEVER, is_certain, observe
from tests.small import finish, train


@pytest.fixture(scope="module")
def ensemble():
    return grown(rare())


# Certainty.


def completions(ensemble: Ensemble, state):
    """Every state that answers can lead to; open features may stay open in between."""
    options = made.all_options(ensemble)
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
    row = data.draw(made.tables(ensemble.catalogue, max_rows=1))[0]
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


@given(st.data())
def test_any_cascade_survives_the_codec(data):
    model = Model("m", data.draw(cascades()))

    assert through_json(model) == model


def test_trained_cascade_survives_the_codec():
    model = finish(train(rare(12), params_of(false_alarm=0.7), folds=2, seed=1))

    assert through_json(model) == model
    assert model.params["detection"] == 0.9


def document():
    return json.loads(json.dumps(model_to_json(Model("m", two_stages()))))


@pytest.mark.parametrize(
    ("stage", "field", "value"),
    [
        (0, "length", 0),
        (0, "length", 4),
        (0, "length", 1.5),
        (0, "length", None),
        (0, "length", True),
        (1, "threshold", None),
        (1, "threshold", "0"),
        (1, "threshold", 1e13),
        (0, "detection", 1.1),
        (0, "false_alarm", -0.1),
        (1, "chance_reaching", 2),
        (1, "chance_rejected", None),
    ],
)
def test_damaged_stage_is_refused_by_field(stage, field, value):
    raw = document()
    raw["cascade"]["stages"][stage][field] = value

    with pytest.raises(RefusedError, match=rf"cascade\.stages\[{stage}\]\.{field}"):
        model_from_json(raw)


@pytest.mark.parametrize(
    "lengths",
    [[1, 2], [2, 1], [3, 3], [1], [3, 1], []],
    ids=lambda lengths: str(lengths),
)
def test_stages_that_do_not_part_the_hypotheses_are_refused(lengths):
    raw = document()
    one = raw["cascade"]["stages"][0]
    raw["cascade"]["stages"] = [one | {"length": length} for length in lengths]

    with pytest.raises(RefusedError, match=r"cascade\.stages: must end"):
        model_from_json(raw)


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"stages": None, "chance_passed": 0.5}, "stages"),
        ({"stages": [3], "chance_passed": 0.5}, "stages"),
        ([], "cascade"),
        ("none", "cascade"),
    ],
)
def test_cascade_of_another_shape_is_refused(value, where):
    with pytest.raises(RefusedError, match=where):
        model_from_json(document() | {"cascade": value})


@pytest.mark.parametrize("value", [None, -0.1, 1.5, "1", math.nan])
def test_damaged_chance_is_refused(value):
    raw = document()
    raw["cascade"]["chance_passed"] = value

    with pytest.raises(RefusedError, match=r"cascade\.chance_passed"):
        model_from_json(raw)


def test_policy_cascade_without_a_cascade_is_refused():
    with pytest.raises(RefusedError, match="policy: must be one of ordered, sample"):
        model_from_json(document() | {"cascade": None})


def test_cascade_of_three_classes_is_refused():
    ensemble = replace(
        two_stages(policy="ordered"),
        classes=made.classes_of(3),
        priors=(0.5, 0.25, 0.25),
        hypotheses=tuple(Stump(idx, 0.5, (1, -1, 1)) for idx in range(3)),
    )
    raw = json.loads(json.dumps(model_to_json(Model("m", ensemble))))

    with pytest.raises(RefusedError, match=r"cascade\.stages"):
        model_from_json(raw)


def test_chances_follow_the_stages():
    ensemble = two_stages()
    codes = np.array([0, 1, 2, -1, -2])

    assert stage_chances(ensemble, codes)[:, 1] == pytest.approx(
        [0.2, 0.3, 0.9, 0.1, 0.11]
    )
    assert stage_votes(ensemble, codes).tolist() == [0, 0, 1, 0, 0]
