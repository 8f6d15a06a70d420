"""Another policy's error and spend, from the log of one, against the known truth."""

import math
from dataclasses import replace

import numpy as np
import pytest

from askless.core.session import machine
from askless.core.session.answers import give_up
from askless.core.session.state import Answer, StopRule
from askless.core.simulation.off_policy import (
    JudgedCases,
    estimate_gaps,
    estimate_policy,
    judge_cases,
)
from askless.core.simulation.replays import LoggedCase, ReplayTerms, replay
from askless.core.simulation.trails import FOREIGN, LoggedDraw, find_paid_at, trail_case
from askless.core.table.prices import Paid
from tests.sessions import BUNDLE, FEE, small_ensemble

BUDGET = 60
#: trails that several tests judge
LOGS: dict = {}
RATE, N_SEEDS = 0.5, 500
LOGGER = small_ensemble([10, 20, 25, 30], [(0, 1.0), (1, 0.9), (2, 0.8), (3, 0.7)])
ASKS_ONE = small_ensemble([10, 20, 25, 30], [(0, 1.0)])
#: asks f3 and f0, which costs 40; the logger asks f0 and f1, and then has 30 left
OTHER = small_ensemble([10, 20, 25, 30], [(3, 1.0), (0, 0.9), (2, 0.5)])
#: asks f2 alone of what the logger leaves out
FREE_OTHER = small_ensemble([10, 20, 25, 30], [(2, 1.0), (0, 0.9)])


def log(ensemble, row, seed, explore=RATE, budget=BUDGET, **options):
    """Return the end of a session in which all questions are answered."""
    stop = StopRule(certain=False)
    options = {"stop": stop} | options
    state = machine.start(ensemble, budget, seed, explore=explore, **options)
    while state.next_feature_idx is not None and state.stop_reason is None:
        question = machine.next_question(ensemble, state)
        answers = [Answer(idx, "value", row[idx]) for idx in question.feature_idxs]
        state = machine.observe(ensemble, state, answers)
    return state


def judge(logger, target, row, explore=RATE, budget=BUDGET, n_seeds=N_SEEDS):
    """Judge a policy on one case, logged many times; the class is 1."""
    key = id(logger), row, explore, budget, n_seeds
    if key not in LOGS:
        states = [log(logger, row, seed, explore, budget) for seed in range(n_seeds)]
        LOGS[key] = [trail_case(one, 1) for one in states]
    return judge_cases(target, LOGS[key])


def know_truth(target, row, budget=BUDGET):
    """Return the error, log-loss and spend that the policy has if it asks itself."""
    answers = {idx: Answer(idx, "value", value) for idx, value in enumerate(row)}
    end = replay(target, LoggedCase({}, answers), ReplayTerms(budget))
    chance = end.forecast.probabilities[1]
    return [float(end.forecast.label != 1), -np.log(chance), end.spent]


def z_of(figures, truth):
    """Return how many standard errors the mean of figures is from the truth."""
    error = figures.std(ddof=1) / np.sqrt(len(figures))
    return abs(figures.mean() - truth) / max(error, 1e-9)


ROWS = [(1.0, 0.0, 1.0, 0.0), (0.0, 1.0, 0.0, 1.0)]
#: needs f0 and f1 alone, and stops with 30 left
STOPPER = small_ensemble([10, 20, 25, 30], [(0, 1.0), (1, 0.9)])
PAIRS = [(LOGGER, LOGGER), (LOGGER, OTHER), (LOGGER, FREE_OTHER), (STOPPER, OTHER)]


@pytest.mark.slow
@pytest.mark.parametrize(("logger", "target"), PAIRS)
def test_figures_are_the_truth_on_average_for_every_case(logger, target):
    for row in ROWS:
        judged, truth = judge(logger, target, row), know_truth(target, row)
        weighted = judged.weights[:, None] * judged.ends

        assert z_of(judged.weights, 1.0) < 4
        assert all(z_of(judged.robust[:, i], truth[i]) < 4 for i in range(3))
        assert all(z_of(weighted[:, i], truth[i]) < 4 for i in range(3))


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.6, 1.6])
def test_wrong_propensities_give_wrong_figures(factor):
    row = ROWS[0]
    states = [log(LOGGER, row, seed) for seed in range(N_SEEDS)]
    trails = [
        replace(trail_case(one, 1), explore=one.explore * factor) for one in states
    ]

    judged = judge_cases(OTHER, trails)

    assert z_of(judged.weights, 1.0) > 4
    assert z_of(judged.robust[:, 1], know_truth(OTHER, row)[1]) > 3


def test_a_policy_that_asks_what_was_asked_needs_no_exploration():
    judged = judge(LOGGER, LOGGER, ROWS[0], explore=0.0, n_seeds=40)

    found = estimate_policy(judged)

    assert judged.weights.tolist() == [1.0] * 40
    assert found.support == (1.0, 0.0, 0.0)
    assert found.n_effective == 40
    assert found.lack is None
    assert found.weighted[0] == found.normalised[0] == found.robust[0]


def test_without_exploration_other_questions_have_no_support():
    found = estimate_policy(judge(LOGGER, OTHER, ROWS[0], explore=0.0, n_seeds=40))

    assert found.support == (0.0, 0.0, 1.0)
    assert found.n_effective == 0.0
    assert found.lack == "no_support"
    assert found.weighted[0].value == 0.0


def test_a_feature_that_the_logger_can_never_pay_has_no_support():
    # The logger's budget is below the price of f3.
    judged = judge(LOGGER, OTHER, ROWS[0], budget=29, n_seeds=200)
    dear = [
        replace(trail_case(log(LOGGER, ROWS[0], seed, budget=29), 1), budget=60)
        for seed in range(200)
    ]

    assert estimate_policy(judged).support[2] == 0.0
    assert estimate_policy(judge_cases(OTHER, dear)).lack == "no_support"


def log_half(target, n_seeds=600):
    """Judge a policy on cases of which half know f2 and f3 from the start."""
    trails = []
    for seed in range(n_seeds):
        known = {2: 1.0, 3: 0.0} if seed % 2 else {}
        state = log(ASKS_ONE, ROWS[0], seed, budget=200, known=known)
        trails.append(trail_case(state, 1))
    return judge_cases(target, trails)


def test_two_answers_that_only_exploration_brings_have_no_support():
    judged = log_half(small_ensemble([10, 20, 25, 30], [(2, 1.0), (3, 0.9), (0, 0.3)]))

    found = estimate_policy(judged)

    assert judged.weights[::2].max() == 0.0
    assert found.support == pytest.approx((0.5, 0.0, 0.5), abs=0.05)
    assert found.n_explored > 20
    assert found.n_effective > 30
    assert found.lack == "no_support"


def test_one_answer_that_only_exploration_brings_gets_a_verdict():
    judged = log_half(small_ensemble([10, 20, 25, 30], [(2, 1.0), (0, 0.3)]))

    found = estimate_policy(judged)

    assert z_of(judged.weights[::2], 1.0) < 4
    assert found.support == pytest.approx((0.5, 0.5, 0.0), abs=0.05)
    assert found.lack is None


def test_what_hangs_on_few_explored_cases_gets_no_verdict():
    found = estimate_policy(judge(LOGGER, OTHER, ROWS[0], explore=0.02, n_seeds=300))

    assert found.support[1] > 0.9
    assert found.n_explored < 20
    assert found.lack == "few_explored"


def test_few_cases_get_no_verdict():
    found = estimate_policy(judge(LOGGER, LOGGER, ROWS[0], n_seeds=20))

    assert found.lack == "few_effective"


@pytest.mark.slow
def test_the_share_that_hangs_on_exploration_is_the_same_however_much_is_explored():
    shares = [
        estimate_policy(judge(LOGGER, OTHER, ROWS[0], rate, n_seeds=400)).support
        for rate in (0.2, 0.5)
    ]

    assert shares[0] == pytest.approx(shares[1], abs=0.08)


def test_known_values_and_refused_answers_are_as_in_the_log():
    def refuse(seed):
        state = machine.start(
            LOGGER, None, seed, {1: 1.0}, stop=StopRule(certain=False), explore=0.5
        )
        while state.next_feature_idx is not None and state.stop_reason is None:
            state = machine.observe(
                LOGGER, state, [Answer(state.next_feature_idx, "refused")]
            )
        return trail_case(state, 0)

    judged = judge_cases(OTHER, [refuse(seed) for seed in range(300)])

    assert z_of(judged.weights, 1.0) < 4
    assert set(judged.ends[judged.weights > 0, 2]) == {0.0}


@pytest.mark.slow
@pytest.mark.parametrize("members", [{0: FEE, 3: FEE}, {2: BUNDLE, 3: BUNDLE}])
def test_fees_and_bundles_are_weighed_too(members):
    costs = [10, 20, 0, 0] if BUNDLE in members.values() else [10, 20, 25, 30]
    logger = small_ensemble(costs, [(0, 1.0), (1, 0.9), (2, 0.8), (3, 0.7)], members)
    target = small_ensemble(costs, [(3, 1.0), (0, 0.9)], members)

    judged = judge(logger, target, ROWS[0], budget=110)

    truth = know_truth(target, ROWS[0], budget=110)
    assert z_of(judged.weights, 1.0) < 4
    assert z_of(judged.robust[:, 2], truth[2]) < 4


@pytest.mark.parametrize("is_given_up", [False, True])
def test_a_bundle_whose_results_never_came_counts_as_answered(is_given_up):
    members = {0: BUNDLE, 1: BUNDLE}
    ensemble = small_ensemble([0, 0, 5], members=members)
    state = machine.start(ensemble, 100, stop=StopRule(certain=False), explore=0.5)
    while not state.history:
        state = machine.start(
            ensemble, 100, state.seed + 1, stop=StopRule(certain=False), explore=0.5
        )
        if state.explored_idx is None:
            state = machine.observe(ensemble, state, [Answer(0, "value", 1.0)])
            break
    while state.next_feature_idx is not None and state.stop_reason is None:
        state = machine.observe(
            ensemble, state, [Answer(state.next_feature_idx, "value", 1.0)]
        )

    end = give_up(ensemble.catalogue, state) if is_given_up else state
    judged = judge_cases(ensemble, [trail_case(end, 1)])

    assert state.pending == (1,)
    assert judged.weights[0] > 0


def test_an_order_whose_result_never_came_counts_from_its_own_time():
    def order(seed):
        stop = StopRule(certain=False)
        state = machine.start(STOPPER, BUDGET, seed, stop=stop, explore=RATE)
        while state.next_feature_idx is not None and state.stop_reason is None:
            idx = state.next_feature_idx
            answer = Answer(idx, "ordered") if idx == 3 else Answer(idx, "value", 1.0)
            state = machine.observe(STOPPER, state, [answer])
        return trail_case(state, 1)

    judged = judge_cases(OTHER, [order(seed) for seed in range(300)])

    assert z_of(judged.weights, 1.0) < 4


def test_a_charge_whose_result_was_given_up_pays_its_fee():
    ensemble = small_ensemble([10, 20, 25, 30], members={0: FEE, 3: FEE})
    state = machine.start(
        ensemble, 95, stop=StopRule(certain=False), explore=math.ulp(0.0)
    )
    state = machine.observe(ensemble, state, [Answer(0, "ordered")])
    state = machine.observe(ensemble, state, [Answer(1, "value", 1.0)])
    trail = trail_case(give_up(ensemble.catalogue, state), 1)

    found = [find_paid_at(ensemble, draw, trail) for draw in trail.draws[:2]]

    assert found == [Paid(), Paid(frozenset({0}), frozenset({0}))]


def test_a_question_on_a_feature_that_the_catalogue_lacks_costs_what_it_cost():
    trail = trail_case(log(LOGGER, ROWS[0], 0, explore=0.3), 1)
    draw = LoggedDraw(0, 60, FOREIGN, 55, 3, None)
    foreign = replace(trail, draws=(draw,), case=LoggedCase({}, {}), asked=(FOREIGN,))

    judged = judge_cases(OTHER, [foreign, foreign])

    # After it f3 could not be paid any more: now or never.
    assert judged.supports.tolist() == [[0.0, 1.0, 0.0]] * 2


def test_two_policies_are_compared_case_by_case():
    one, other = (judge(LOGGER, each, ROWS[0], n_seeds=50) for each in (LOGGER, OTHER))

    gaps = estimate_gaps(one, other)

    assert gaps[1].value == pytest.approx(
        float((one.robust[:, 1] - other.robust[:, 1]).mean())
    )
    low, high = estimate_gaps(one, one)[1].interval
    assert (low, high) == (0.0, 0.0)


def test_intervals_are_those_of_a_mean():
    random = np.random.default_rng(0)
    figures = random.normal(3.0, 2.0, (400, 1))
    judged = JudgedCases(
        weights=np.ones(400),
        ends=figures,
        robust=figures,
        supports=np.eye(3)[np.zeros(400, int)],
        explored=np.zeros((400, 2)),
        n_explored=np.zeros(400),
    )

    (found,) = estimate_policy(judged).robust

    error = figures.std(ddof=1) / 20
    assert found.interval == pytest.approx(
        (figures.mean() - 1.959964 * error, figures.mean() + 1.959964 * error)
    )
