"""What is asked next: the plan of `ordered`, the draws of `sample`."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core import kernels
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import LEAF, Stump, Tree
from askless.core.session import machine
from askless.core.session.policies import sample
from askless.core.session.position import Plan, Position
from askless.core.session.state import State, StopRule
from tests import strategies
from tests.sessions import (
    BUNDLE,
    FEE,
    NEVER,
    answer_from_row,
    draw_many,
    observe,
    small_ensemble,
)

# The 99.9 % point of chi square with 3 degrees of freedom.
CHI_SQUARE_BOUND = 16.3


def in_order(*idxs: int) -> list[tuple[int, float]]:
    return [(idx, 1.0) for idx in idxs]


def plan_of(ensemble: Ensemble, state: State) -> Plan:
    return Position.of(ensemble, state).plan


def ask_all(ensemble: Ensemble, state: State, outcome: str = "value") -> list[int]:
    """Answer whatever is asked; the features in the order of asking."""
    asked = []
    while state.next_feature_idx is not None:
        asked.append(state.next_feature_idx)
        value = 1.0 if outcome == "value" else None
        state = observe(ensemble, state, asked[-1], outcome, value)
    return asked


@pytest.mark.parametrize(
    ("budget", "length", "first", "planned"),
    [
        (0, 0, None, []),
        (6, 0, None, []),
        (7, 2, 1, [1]),
        (9, 2, 1, [1]),
        (10, 4, 1, [1, 0]),
        (14, 4, 1, [1, 0]),
        (15, 5, 1, [1, 0, 2]),
        (None, 5, 1, [1, 0, 2]),
    ],
)
def test_plan_is_the_longest_prefix_that_fits_the_budget(
    budget, length, first, planned
):
    ensemble = small_ensemble([3, 7, 5], in_order(1, 1, 0, 1, 2))
    state = machine.start(ensemble, budget)

    plan = plan_of(ensemble, state)

    assert (plan.length, plan.first_open) == (length, first)
    assert ask_all(ensemble, state) == planned


def test_plan_does_not_jump_over_what_is_too_dear():
    ensemble = small_ensemble([3, 70, 5], in_order(0, 1, 2))

    plan = plan_of(ensemble, machine.start(ensemble, 10))

    assert plan.length == 1


def test_free_feature_is_planned_without_any_budget():
    ensemble = small_ensemble([0, 1], in_order(0, 1))

    state = machine.start(ensemble, 0)

    assert state.next_feature_idx == 0


def test_known_feature_costs_the_plan_nothing():
    ensemble = small_ensemble([3, 7], in_order(0, 1))

    plan = plan_of(ensemble, machine.start(ensemble, 7, known={0: 1.0}))

    assert (plan.length, plan.first_open) == (2, 1)


@pytest.mark.parametrize("outcome", ["unavailable", "refused", "unknown"])
def test_feature_in_vain_is_skipped_and_the_prefix_extends(outcome):
    ensemble = small_ensemble([3, 7, 5], in_order(0, 1, 0, 2))
    state = machine.start(ensemble, 12)

    after = observe(ensemble, state, 0, outcome)

    assert [plan_of(ensemble, s).length for s in (state, after)] == [3, 4]
    assert after.next_feature_idx == 1


def test_ordered_feature_counts_as_answered():
    ensemble = small_ensemble([3, 7], in_order(0, 1))
    state = machine.start(ensemble, 10)

    after = observe(ensemble, state, 0, "ordered")

    assert after.next_feature_idx == 1
    assert plan_of(ensemble, after).length == 2


@pytest.mark.parametrize(("budget", "length"), [(22, 0), (23, 1), (27, 1), (28, 2)])
def test_plan_pays_the_fee_of_a_group_once(budget, length):
    ensemble = small_ensemble([3, 5], in_order(0, 1), members={0: FEE, 1: FEE})

    plan = plan_of(ensemble, machine.start(ensemble, budget))

    assert plan.length == length


@pytest.mark.parametrize(("budget", "length"), [(89, 0), (90, 2), (95, 3)])
def test_plan_pays_a_bundle_once_for_all_its_members(budget, length):
    ensemble = small_ensemble(
        [0, 0, 5], in_order(0, 1, 2), members={0: BUNDLE, 1: BUNDLE}
    )

    plan = plan_of(ensemble, machine.start(ensemble, budget))

    assert plan.length == length


def test_finding_a_plan_leaves_the_session_as_it_was():
    ensemble = small_ensemble([3, 5], in_order(0, 1), members={0: FEE, 1: FEE})
    position = Position.of(ensemble, machine.start(ensemble, 100))

    plan = position.plan

    assert plan.length == 2
    assert not position.case.is_group_paid.any()
    assert (position.case.status == kernels.OPEN).all()


@given(strategies.stump_ensembles(policy="ordered"), strategies.amounts(), st.data())
def test_larger_budget_extends_the_same_plan(ensemble, budget, data):
    larger = budget + data.draw(strategies.amounts())

    plans = [
        plan_of(ensemble, machine.start(ensemble, b)) for b in (budget, larger, None)
    ]

    lengths = [plan.length for plan in plans]
    assert lengths == sorted(lengths)
    assert lengths[-1] == len(ensemble.hypotheses)


@given(strategies.stump_ensembles(policy="ordered"), strategies.budgets(), st.data())
def test_larger_budget_asks_the_same_first(ensemble, budget, data):
    larger = None if budget is None else budget + data.draw(strategies.amounts())

    asked = [ask_all(ensemble, machine.start(ensemble, b)) for b in (budget, larger)]

    assert asked[1][: len(asked[0])] == asked[0]


@given(strategies.stump_ensembles(), st.integers(0, 2**64 - 1))
def test_all_that_some_hypothesis_reads_is_asked_without_a_budget(ensemble, seed):
    state = machine.start(ensemble, None, seed=seed)

    asked = ask_all(ensemble, state, "refused")

    assert sorted(asked) == np.flatnonzero(ensemble.is_used).tolist()


def test_end_of_the_plan_is_all_known_only_when_it_is_the_whole_ensemble():
    ensemble = small_ensemble([3, 5], in_order(0, 1))

    reasons = [
        machine.start(ensemble, budget, known=known).stop_reason
        for budget, known in [(4, {0: 1.0}), (0, {0: 1.0, 1: 1.0})]
    ]

    assert reasons == ["budget_exhausted", "all_known"]


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_ensemble_without_hypotheses_asks_nothing(policy):
    ensemble = small_ensemble([3], [])

    state = machine.start(ensemble, None, policy=policy)

    assert (state.next_feature_idx, state.stop_reason) == (None, "all_known")


def test_draws_follow_the_proportions_of_alpha():
    alphas = (0.5, 0.25, 2.0, 1.25)
    ensemble = small_ensemble([1] * 4, list(enumerate(alphas)))
    n_draws = 20_000

    drawn = draw_many(ensemble, sample.uniforms(3, 0).random(n_draws))

    expected = n_draws * np.array(alphas) / sum(alphas)
    counts = np.bincount(drawn, minlength=4)
    assert ((counts - expected) ** 2 / expected).sum() < CHI_SQUARE_BOUND


@pytest.mark.parametrize("other", [(8, 5), (7, 6), (5, 7)])
def test_streams_of_other_keys_are_independent(other):
    one = sample.uniforms(7, 5).random(4000)

    two = sample.uniforms(*other).random(4000)

    assert abs(np.corrcoef(one, two)[0, 1]) < 0.06


@pytest.mark.parametrize("key", [(0, 0), (3, 5), (2**64 - 1, 2**64 - 1)])
def test_numbers_are_philoxs_own(key):
    philox = np.random.Philox(key=np.array(key, np.uint64))

    numbers = sample.uniforms(*key).random(5)

    assert numbers.tolist() == np.random.Generator(philox).random(5).tolist()


@pytest.mark.parametrize("seed", [0, 3, 2**64 - 1])
def test_numbers_of_many_rows_are_those_of_each(seed):
    streams = [0, 5, 2**64 - 1]

    blocks = sample.draw_blocks(seed, streams, lambda: np.ones(3, np.bool_))
    numbers = np.hstack([next(blocks) for _ in range(3)])

    assert numbers.shape == (3, 2 * sample.N_BLOCK)
    for row, stream in zip(numbers, streams, strict=True):
        its = sample.uniforms(seed, stream).random(row.size)
        assert row.tolist() == its.tolist()


def test_first_feature_asked_is_that_of_the_first_draw():
    ensemble = small_ensemble([1, 1, 1], [(2, 1.0), (0, 2.0), (1, 1.0)])
    first = draw_many(ensemble, sample.uniforms(9, 4).random(1))[0]

    state = machine.start(ensemble, 10, seed=9, stream=4, policy="sample")

    assert state.next_feature_idx == ensemble.hypotheses[first].feature_idx
    assert state.n_draws == 0


@pytest.mark.parametrize("policy", ["sample", "sample_reyzin"])
def test_sampling_ends_at_a_draw_that_does_not_fit_if_nothing_does(policy):
    ensemble = small_ensemble([1, 100], [(0, 1.0), (1, 1.0)])
    drawn = draw_many(ensemble, sample.uniforms(0, 0).random(50)).tolist()

    state = machine.start(ensemble, 10, policy=policy, known={0: 1.0})

    assert state.stop_reason == "budget_exhausted"
    assert state.n_draws == drawn.index(1)


@pytest.mark.parametrize(
    ("policy", "asked", "reason"),
    [("sample", 1, None), ("sample_reyzin", None, "plan_complete")],
)
def test_draw_that_does_not_fit_is_passed_over_where_another_does(
    policy, asked, reason
):
    ensemble = small_ensemble([1, 2, 100], [(0, 1.0), (1, 1.0), (2, 1e3)])
    drawn = draw_many(ensemble, sample.uniforms(0, 0).random(9000)).tolist()

    state = machine.start(ensemble, 10, policy=policy, known={0: 1.0}, stop=NEVER)

    assert (state.next_feature_idx, state.stop_reason) == (asked, reason)
    assert state.n_draws == drawn.index(2 if asked is None else asked)


def test_draws_go_on_after_a_bundle_as_if_it_had_come_at_once():
    ensemble = small_ensemble([0, 0, 50], members={0: BUNDLE, 1: BUNDLE})
    for seed in range(9):
        opened = machine.start(ensemble, 100, seed, policy="sample", stop=NEVER)
        drawn = draw_many(ensemble, sample.uniforms(seed, 0).random(99)).tolist()
        if drawn[0] == 2:
            continue
        state, _ = answer_from_row(ensemble, opened, [1.0] * 3)

        assert state.stop_reason == "budget_exhausted"
        assert state.n_draws == drawn.index(2)


def test_draws_before_the_one_that_asks_are_done_with():
    ensemble = small_ensemble([1, 1], [(0, 1.0), (1, 1.0)])
    drawn = draw_many(ensemble, sample.uniforms(0, 0).random(50)).tolist()

    state = machine.start(ensemble, 10, policy="sample", known={0: 1.0})

    assert (state.next_feature_idx, state.n_draws) == (1, drawn.index(1))


def test_sampling_ends_when_all_that_is_read_has_its_answer():
    ensemble = small_ensemble([1, 1, 1], [(0, 1.0), (1, 1.0)])
    state = machine.start(ensemble, 10, policy="sample", known={0: 1.0})

    state = observe(ensemble, state, 1, "unavailable")

    assert state.stop_reason == "all_known"


def test_draws_go_on_beyond_one_block():
    ensemble = small_ensemble([1, 1], [(0, 1.0), (1, 1 / 4096)])
    n_drawn = 4 * sample.N_BLOCK
    seed = next(
        seed
        for seed in range(100)
        if draw_many(ensemble, sample.uniforms(seed, 0).random(n_drawn)).any()
        and not draw_many(
            ensemble, sample.uniforms(seed, 0).random(sample.N_BLOCK)
        ).any()
    )
    drawn = draw_many(ensemble, sample.uniforms(seed, 0).random(n_drawn)).tolist()

    state = machine.start(ensemble, 10, seed=seed, policy="sample", known={0: 1.0})
    after = observe(ensemble, state, 0, "value", 0.0)

    assert (state.next_feature_idx, state.n_draws) == (1, drawn.index(1))
    assert after.n_draws == state.n_draws


def test_hypothesis_never_drawn_counts_as_not_needed():
    ensemble = small_ensemble([1, 1], [(0, 1.0), (1, 1e-12)])

    state = machine.start(
        ensemble, 10, policy="sample", known={0: 1.0}, stop=StopRule(certain=False)
    )

    assert state.outcomes[1] is None
    assert (state.stop_reason, state.n_draws) == ("all_known", sample.MAX_DRAWS)


def test_draw_that_waited_for_a_bundle_goes_on_once_it_is_there():
    tree = Tree((Stump(1, 0.5, (1,)), Stump(2, 0.5, (-1,))), ((1, LEAF), (LEAF, LEAF)))
    members = {0: BUNDLE, 1: BUNDLE}
    ensemble = small_ensemble([0, 0, 1, 1], [(0, 1.0), (3, 1.0)], members)
    ensemble = replace(ensemble, hypotheses=(tree, ensemble.hypotheses[1]))
    asked = []
    for seed in range(20):
        state = machine.start(ensemble, None, seed, policy="sample", stop=NEVER)
        asked.append(answer_from_row(ensemble, state, [1.0] * 4)[1])

    bundle_first = [order for order in asked if order[0] == 0]
    assert bundle_first == [[0, 1, 2, 3]] * len(bundle_first)
    assert 0 < len(bundle_first) < len(asked)
