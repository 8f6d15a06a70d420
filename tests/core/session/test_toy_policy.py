"""Every policy keeps the same promises, also one that a test adds by one class."""

import math
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Group
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import LEAF, Stump, Tree
from askless.core.session import machine
from askless.core.session.policies import POLICIES, list_serving_policies
from askless.core.session.state import StopRule
from askless.core.simulation.curves import evaluate
from askless.core.simulation.simulate import class_probabilities, class_votes, simulate
from tests.cheapest import Cheapest
from tests.sessions import (
    NEVER,
    answer_from_row,
    is_certain,
    observe_value,
    small_ensemble,
)
from tests.small import table_of

BUDGETS = [0, 2_000_000, 5_000_000, 9_000_000, None]


@pytest.fixture(autouse=True)
def cheapest(monkeypatch):
    monkeypatch.setitem(POLICIES, "cheapest", Cheapest())


def tiny_ensembles() -> list[Ensemble]:
    """Stumps with a group and a bundle; a tree among stumps."""
    group, bundle = Group("g", fee=2_000_000), Group("b", price=3_000_000)
    members = {0: group, 1: group, 2: bundle, 3: bundle}
    costs = [1_000_000, 2_000_000, 0, 0]
    hypotheses = [(1, 1.0), (3, -0.75), (0, 0.5), (2, 0.5), (1, 0.25)]
    stumps = small_ensemble(costs, hypotheses, members, priors=(0.25, 0.75))
    tree = Tree((Stump(0, 0.5, (1,)), Stump(2, 0.5, (-1,))), ((1, LEAF), (LEAF, LEAF)))
    mixed = replace(
        small_ensemble([1_000_000, 2_000_000, 3_000_000]),
        hypotheses=(tree, Stump(1, 0.5, (1,))),
        alphas=(1.0, 0.75),
    )
    return [stumps, mixed]


def rows_of(ensemble: Ensemble) -> np.ndarray:
    """Every row of low, high and missing values."""
    n_features = len(ensemble.catalogue.features)
    return np.array(list(product((0.0, 1.0, math.nan), repeat=n_features)))


def each_served():
    for number, ensemble in enumerate(tiny_ensembles()):
        for name in (*list_serving_policies(ensemble), "cheapest"):
            yield pytest.param(ensemble, name, id=f"{name}-{number}")


served = pytest.mark.parametrize(("ensemble", "policy"), list(each_served()))


@served
def test_spends_never_exceed_budgets_and_a_walk_is_the_sessions(ensemble, policy):
    rows = rows_of(ensemble)[::7]
    streams = range(len(rows))

    walks = simulate(
        ensemble, rows, BUDGETS, policy, 3, needs_ranks=True, streams=streams
    )

    chances = class_probabilities(ensemble, walks)
    votes = class_votes(ensemble, walks)
    for (i, row), (j, budget) in product(enumerate(rows), enumerate(BUDGETS)):
        state = machine.start(ensemble, budget, 3, {}, policy, NEVER, i)
        state, asked = answer_from_row(ensemble, state, row)
        forecast = machine.forecast(ensemble, state)
        assert budget is None or state.spent <= budget
        assert (state.spent, len(asked)) == (walks.spent[i, j], walks.n_asked[i, j])
        assert forecast.vote == votes[i, j]
        assert forecast.probabilities == pytest.approx(chances[i, j].tolist())


@served
def test_same_seed_gives_the_same_session_and_replays(ensemble, policy):
    row = rows_of(ensemble)[0]

    one, two = (
        answer_from_row(ensemble, machine.start(ensemble, None, 5, {}, policy), row)
        for _ in range(2)
    )
    replayed = machine.start(ensemble, None, 5, {}, policy)
    for answer in one[0].history:
        replayed = machine.observe(ensemble, replayed, [answer])

    assert repr(one) == repr(two)
    assert repr(replayed) == repr(one[0])


@served
def test_larger_budget_extends_what_a_smaller_one_asks(ensemble, policy):
    row = rows_of(ensemble)[0]

    asked = [
        answer_from_row(
            ensemble, machine.start(ensemble, budget, 5, {}, policy, NEVER), row
        )[1]
        for budget in BUDGETS
    ]

    for fewer, more in pairwise(asked):
        assert more[: len(fewer)] == fewer


@pytest.mark.slow
@served
@pytest.mark.parametrize("budget", [2_000_000, 9_000_000, None])
def test_forecast_stands_at_every_step_and_certain_is_sound(ensemble, policy, budget):
    def walk_on(state):
        forecast = machine.forecast(ensemble, state)
        assert sum(forecast.probabilities) == pytest.approx(1.0)
        said = {(forecast.vote, forecast.label)}
        is_sure = is_certain(ensemble, state)
        following = state.pending or (state.next_feature_idx,)
        if following[0] is not None:
            for value in (0.0, 1.0, math.nan):
                after = observe_value(ensemble, state, following[0], value)
                said |= walk_on(after)
        if is_sure and state.stop.certain:
            assert len(said) == 1
        return said

    walk_on(machine.start(ensemble, budget, 5, {}, policy, StopRule()))


def test_policy_serves_every_model_unless_it_says_otherwise():
    assert all(
        "cheapest" in list_serving_policies(ensemble) for ensemble in tiny_ensembles()
    )


def test_evaluate_plays_a_policy_that_a_test_adds():
    ensemble = tiny_ensembles()[0]
    rows = rows_of(ensemble)
    dataset = table_of(rows.T, catalogue=ensemble.catalogue)

    curve = evaluate(ensemble, dataset, BUDGETS, "cheapest")

    assert list(curve.mean_spends) == sorted(curve.mean_spends)
