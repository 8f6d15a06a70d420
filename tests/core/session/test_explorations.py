"""Sessions that explore ask one question more at most, at chances that they log."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.errors import RefusedError
from askless.core.model.hypotheses import LEAF, Stump, Tree
from askless.core.session import machine
from askless.core.session.answers import count_questions
from askless.core.session.certificates import choose_level
from askless.core.session.explorations import (
    compute_propensity,
    is_explored,
    uniforms_at,
)
from askless.core.session.policies import list_serving_policies
from askless.core.session.state import Answer, Exploration, StopRule
from askless.core.session.steps import add_step_chances, compute_prospect, trace_answers
from tests import strategies
from tests.cascades import cascades
from tests.core.session.test_properties import SCRIPTS, openings, play
from tests.panels import with_panels, with_rules, with_worth
from tests.sessions import BUNDLE, FEE, NEVER, begun, observe, small_ensemble

IN_VAIN = ["unavailable", "refused", "unknown"]


def start(ensemble, budget=100, **options):
    return machine.start(ensemble, budget, **({"stop": NEVER} | options))


def find_seed(ensemble, feature_idx, n_answers=0, budget=100, **options):
    """Return a session that asks a feature as its exploratory question, and when."""
    for seed in range(4000):
        state = start(ensemble, budget, seed=seed, explore=0.5, **options)
        while state.explored_idx is None and state.next_feature_idx is not None:
            state = observe(ensemble, state, state.next_feature_idx, "value", 1.0)
        if state.explored_idx == feature_idx and len(state.history) == n_answers:
            return state
    raise AssertionError("no seed draws it")


@st.composite
def exploring(draw):
    """A session that explores often, and every state of it."""
    ensemble, fields = draw(openings())
    script = draw(SCRIPTS)
    return (
        ensemble,
        fields,
        script,
        play(ensemble, machine.start(ensemble, **fields, explore=0.5), script),
    )


@given(exploring())
def test_a_session_that_explores_asks_what_is_open_and_can_be_paid(session):
    ensemble, fields, _, states = session
    most = fields["stop"].max_questions

    for state in states:
        question = machine.next_question(ensemble, state)
        n_questions = count_questions(ensemble.catalogue, state.history)
        assert state.remaining is None or state.remaining >= 0
        if question is not None:
            assert state.outcomes[question.feature_idx] is None
            assert state.remaining is None or question.price <= state.remaining
        if most is not None and n_questions >= most and is_explored(state):
            assert state.stop_reason is not None


@given(exploring())
def test_one_exploratory_question_is_put_at_most_and_again_by_the_same_seed(session):
    ensemble, fields, script, states = session
    drawn = {state.explored_idx for state in states if is_explored(state)}
    n_questions = [
        count_questions(ensemble.catalogue, states[-1].history[: draw.n_answers])
        for draw in states[-1].explorations
    ]

    again = play(ensemble, machine.start(ensemble, **fields, explore=0.5), script)

    assert again == states
    assert len(drawn) <= 1
    assert all(pair < other for pair, other in pairwise(n_questions))


@given(exploring())
def test_a_session_that_drew_nothing_is_the_one_without_exploration(session):
    ensemble, fields, script, states = session

    plain = play(ensemble, machine.start(ensemble, **fields), script)

    assert all(not state.explorations and not state.explore for state in plain)
    if states[-1].explored_idx is not None:
        return
    assert [state.next_feature_idx for state in plain] == [
        state.next_feature_idx for state in states
    ]
    assert [state.stop_reason for state in plain] == [
        state.stop_reason for state in states
    ]


EVERY_KIND = st.one_of(
    strategies.stump_ensembles(),
    cascades(),
    with_panels(strategies.stump_ensembles()),
    with_rules(with_panels(strategies.stump_ensembles())),
    with_worth(strategies.stump_ensembles()),
)


@given(EVERY_KIND, strategies.budgets(), st.integers(0, 99), st.data())
def test_every_policy_explores_within_its_budget_and_explains_itself(
    ensemble, budget, seed, data
):
    policy = data.draw(st.sampled_from(list_serving_policies(ensemble)))
    state = start(ensemble, budget, seed=seed, policy=policy, explore=0.5)
    state = add_step_chances(ensemble, state)
    while state.next_feature_idx is not None and state.stop_reason is None:
        question = machine.next_question(ensemble, state)
        prospect = compute_prospect(ensemble, state, question.feature_idx)
        answers = [Answer(idx, "value", 1.0) for idx in question.feature_idxs]
        state = add_step_chances(ensemble, machine.observe(ensemble, state, answers))
        assert prospect is None or prospect.low <= prospect.now <= prospect.high
        assert state.remaining is None or state.remaining >= 0

    assert state.is_led
    told = trace_answers(ensemble, state)
    again = trace_answers(ensemble, replace(state, step_chances=()))
    for exploration, other in zip(told, again, strict=True):
        assert exploration.after == pytest.approx(other.after)


@pytest.mark.parametrize("rate", [-0.01, 0.51, float("nan")])
def test_a_rate_out_of_range_is_refused_by_name(rate):
    with pytest.raises(RefusedError, match=r"explore: must be from 0 to 0\.5"):
        start(small_ensemble([1]), explore=rate)


def test_draws_are_as_likely_as_they_say():
    ensemble, n_sessions = small_ensemble([10, 10, 10, 10]), 2000

    drawn = Counter(
        start(ensemble, seed=seed, explore=0.3).explored_idx
        for seed in range(n_sessions)
    )

    # The policy asks f0 itself; each other one has a chance of 0.1.
    assert set(drawn) == {None, 1, 2, 3}
    for idx in (1, 2, 3):
        assert drawn[idx] == pytest.approx(200, abs=4 * 13.4)


def test_an_exploratory_question_is_marked_and_has_its_chance():
    ensemble = small_ensemble([10, 20, 30])
    state = find_seed(ensemble, 2)

    question = machine.next_question(ensemble, state)

    assert (question.feature_idx, question.price) == (2, 30)
    assert question.explores
    assert question.policy_stop is None
    assert question.open_share == 0.0
    assert question.alternatives[0] == (0, 10)
    assert state.explorations == (Exploration(0, 2, 2),)
    assert compute_propensity(ensemble, state) == 0.25


def test_answers_log_the_chance_of_their_question():
    ensemble = small_ensemble([10, 20, 30])
    state = find_seed(ensemble, 2, n_answers=1)

    state = observe(ensemble, state, 2, "value", 1.0)
    state = observe(ensemble, state, 1, "value", 1.0)

    # At the second question f2 is the only other one; then nothing is drawn any more.
    assert [question.propensity for question in state.history] == [0.5, 0.5, 1.0]
    assert [exploration.n_open for exploration in state.explorations] == [2, 1]


@pytest.mark.parametrize("outcome", IN_VAIN)
def test_a_refused_exploratory_question_goes_on_as_without(outcome):
    ensemble = small_ensemble([10, 20, 30])
    state = find_seed(ensemble, 2)
    plain = start(ensemble, seed=state.seed)

    after = observe(ensemble, state, 2, outcome)

    assert after.spent == 0
    assert not is_explored(after)
    assert after.next_feature_idx == plain.next_feature_idx == 0


def test_it_stands_until_it_is_answered_whatever_is_volunteered():
    ensemble = small_ensemble([10, 20, 30])
    state = find_seed(ensemble, 2)

    after = observe(ensemble, state, 1, "value", 1.0)
    after = observe(ensemble, after, 1, "value", 0.0)

    assert is_explored(after)
    assert after.history[0].propensity is None
    assert len(after.explorations) == 1


def test_it_goes_when_it_can_not_be_paid_any_more():
    ensemble = small_ensemble([10, 20, 90])
    state = find_seed(ensemble, 2)

    after = observe(ensemble, state, 1, "value", 1.0)

    assert after.next_feature_idx == 0
    assert not machine.next_question(ensemble, after).explores


def test_a_corrected_answer_draws_no_second_time():
    ensemble = small_ensemble([10, 20, 30])
    state = observe(ensemble, start(ensemble, seed=3, explore=0.01), 0, "value", 1.0)
    n_draws = len(state.explorations)

    after = observe(ensemble, state, 0, "value", 0.0)

    assert n_draws == len(after.explorations) == 2
    assert after.next_feature_idx == state.next_feature_idx


def test_where_nothing_else_can_be_paid_nothing_is_drawn():
    ensemble = small_ensemble([10, 200])

    state = start(ensemble, explore=0.5)
    after = observe(ensemble, state, 0, "value", 1.0)

    assert state.explorations == after.explorations == ()
    assert after.history[0].propensity == 1.0


def test_it_may_come_after_the_last_question_and_says_that_the_policy_would_stop():
    ensemble = small_ensemble([60, 60, 40], [(0, 1.0), (1, 1.0), (2, 1.0)])
    # With f0 asked the plan is at its end: f1 is too dear, and f2 stands after it.
    state = find_seed(ensemble, 2, n_answers=1)

    question = machine.next_question(ensemble, state)

    assert state.stop_reason is None
    assert question.policy_stop == "plan_complete"
    after = observe(ensemble, state, 2, "value", 1.0)
    assert after.stop_reason == "budget_exhausted"


def test_advice_to_be_sure_enough_waits_for_the_exploratory_question():
    ensemble = small_ensemble([10, 20, 30], [(0, 9.0), (1, 1.0), (2, 1.0)])
    state = find_seed(ensemble, 2, n_answers=1, stop=StopRule())

    question = machine.next_question(ensemble, state)

    assert question.policy_stop == "certain"
    assert observe(ensemble, state, 2, "refused").stop_reason == "certain"


def test_a_feature_that_the_model_never_reads_may_be_drawn_and_is_not_useless():
    ensemble = small_ensemble([10, 20], [(0, 1.0)])
    state = find_seed(ensemble, 1)

    after = machine.observe(ensemble, state, [Answer(1, "value", 1.0)])

    assert after.spent == 20
    assert machine.next_question(ensemble, state).n_hypotheses == 0


def test_a_bundle_is_one_purchase_and_is_drawn_whole():
    members = {1: BUNDLE, 2: BUNDLE, 3: BUNDLE}
    ensemble = small_ensemble([10, 0, 0, 0], members=members)
    state = find_seed(ensemble, 1)

    question = machine.next_question(ensemble, state)
    answers = [Answer(idx, "value", 1.0) for idx in question.feature_idxs]
    after = machine.observe(ensemble, state, answers)

    assert question.feature_idxs == (1, 2, 3)
    assert state.explorations[-1].n_open == 1
    assert after.spent == 90
    assert [question.propensity for question in after.history] == [0.5, None, None]
    asked = after.history[0].feature_idx
    assert after.propensities == {asked: 0.5}
    assert after.is_led


def test_a_policy_that_asks_for_a_bundle_leaves_all_of_it_out_of_the_draw():
    members = {0: BUNDLE, 1: BUNDLE}
    _, state = begun([0, 0, 10], members=members, stop=NEVER, explore=0.5)

    assert state.explorations[0].n_open == 1


def test_a_fee_that_is_due_counts_in_the_price():
    members = {0: FEE, 1: FEE}
    ensemble = small_ensemble([10, 10, 15], [(2, 1.0), (0, 1.0), (1, 1.0)], members)

    # f0 and f1 cost 30 each with the fee.
    state = start(ensemble, budget=29, explore=0.5)

    assert state.explorations == ()


def test_a_smaller_budget_takes_the_question_back_and_a_larger_one_puts_it_again():
    ensemble = small_ensemble([10, 20, 90])
    state = find_seed(ensemble, 2)

    less = machine.change_budget(ensemble, state, 50)
    more = machine.change_budget(ensemble, less, 100)

    assert less.next_feature_idx == 0
    assert is_explored(more)


def test_an_explored_case_has_no_certificate_any_more():
    ensemble = small_ensemble([10, 20, 30])
    state = find_seed(ensemble, 2)
    # Whether rows were set aside is asked first.
    certified = replace(ensemble, certification=object())

    assert choose_level(certified, state) == (None, "other_answers")


def test_a_stopped_session_is_asked_nothing_more():
    ensemble = small_ensemble([10, 20, 30])
    state = machine.stop(find_seed(ensemble, 2))

    assert machine.next_question(ensemble, state) is None
    assert compute_propensity(ensemble, state) is None


def test_numbers_of_exploration_are_not_those_of_draws():
    one = uniforms_at(7, 3, 0).random(4).tolist()

    assert one == uniforms_at(7, 3, 0).random(4).tolist()
    assert one != uniforms_at(7, 3, 1).random(4).tolist()
    assert one != uniforms_at(7, 4, 0).random(4).tolist()


@pytest.mark.parametrize("policy", ["sample", "sample_reyzin"])
def test_draws_ask_as_often_as_their_propensity_says(policy):
    ensemble = small_ensemble(
        [10, 20, 30, 50], [(0, 1.0), (1, 2.0), (2, 0.5), (3, 4.0)]
    )
    n_sessions, first, second = 800, Counter(), Counter()
    chances: dict = {}
    for seed in range(n_sessions):
        state = start(ensemble, 90, seed=seed, policy=policy)
        asked = state.next_feature_idx
        first[asked] += 1
        chances[asked] = compute_propensity(ensemble, state)
        if asked == 3:
            state = observe(ensemble, state, 3, "value", 1.0)
            if state.next_feature_idx is not None:
                after = state.next_feature_idx
                second[after] += 1
                chances[3, after] = compute_propensity(ensemble, state)

    assert chances[3] == pytest.approx(4 / 7.5)
    for asked, n_asked in first.items():
        assert n_asked / n_sessions == pytest.approx(chances[asked], abs=0.05)
    for after, n_asked in second.items():
        assert n_asked / first[3] == pytest.approx(chances[3, after], abs=0.07)


def test_the_chance_of_a_draw_is_unknown_where_the_history_does_not_show_it():
    ensemble = small_ensemble([10, 20, 30])
    state = start(ensemble, policy="sample", seed=1)
    other = next(idx for idx in range(3) if idx != state.next_feature_idx)

    volunteered = observe(ensemble, state, other, "value", 1.0)
    waiting = observe(ensemble, state, state.next_feature_idx, "ordered")
    tree = Tree((Stump(0, 0.5, (1,)), Stump(2, 0.5, (-1,))), ((1, LEAF), (LEAF, LEAF)))
    grown = replace(ensemble, hypotheses=(tree,), alphas=(1.0,))

    for one in (volunteered, waiting):
        assert one.next_feature_idx is not None
        assert compute_propensity(ensemble, one) is None
    assert compute_propensity(grown, start(grown, policy="sample")) is None
    assert volunteered.history[0].propensity is None


class CountedTuple(tuple):
    """A tuple that counts how often it is walked."""

    n_walks = 0

    def __iter__(self):
        self.n_walks += 1
        return super().__iter__()


def test_no_answer_walks_all_hypotheses_to_find_its_chance():
    hypotheses = CountedTuple(small_ensemble([10, 20, 30]).hypotheses)
    ensemble = replace(small_ensemble([10, 20, 30]), hypotheses=hypotheses)
    state = start(ensemble, policy="sample")
    state = observe(ensemble, state, state.next_feature_idx, "value", 1.0)
    n_walks = hypotheses.n_walks

    state = observe(ensemble, state, state.next_feature_idx, "value", 1.0)

    assert state.history[1].propensity is not None
    assert hypotheses.n_walks == n_walks
