"""Sessions of attentional cascades: early rejection, certainty, policies, the codec."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.ensemble import Cascade, Ensemble
from askless.core.model.hypotheses import Stump
from askless.core.session import machine
from askless.core.session.policies.cascade import count_passed
from askless.core.session.position import Position
from askless.core.session.state import StopRule
from askless.core.simulation import curves, simulate
from askless.core.table.dataset import Dataset
from tests.cascades import MICROS, grown, judged, play, rare, staged, two_stages
from tests.sessions import observe
from tests.small import make_dataset


@pytest.fixture(scope="module")
def ensemble():
    return grown(rare())


@pytest.mark.parametrize(
    ("row", "reason", "n_bought", "label", "chance"),
    [
        ([0.0, 1.0, 1.0], "rejected_early", 1, 0, 0.1),
        # A stage after the first rejects with its own chance.
        ([1.0, 0.0, 0.0], "rejected_early", 3, 0, 0.11),
        ([1.0, 1.0, 1.0], "all_known", 3, 1, 0.9),
    ],
)
def test_session_is_rejected_early_or_knows_all(row, reason, n_bought, label, chance):
    ensemble = two_stages()

    state = play(ensemble, row)

    assert (state.stop_reason, state.next_feature_idx) == (reason, None)
    assert state.spent == n_bought * MICROS
    forecast = machine.forecast(ensemble, state)
    assert (forecast.label, forecast.vote) == (label, label)
    assert forecast.probabilities == pytest.approx((1 - chance, chance))


def test_session_between_stages_has_the_chance_of_those_that_reach_it():
    ensemble = two_stages()
    state = machine.start(ensemble, None)
    assert machine.forecast(ensemble, state).probabilities == pytest.approx((0.8, 0.2))

    state = observe(ensemble, state, 0, "value", 1.0)

    forecast = machine.forecast(ensemble, state)
    assert forecast.probabilities == pytest.approx((0.7, 0.3))
    assert (forecast.label, forecast.vote) == (0, 0)


def test_budget_that_ends_a_session_within_a_stage():
    state = play(two_stages(), [1.0, 1.0, 1.0], 2 * MICROS)

    assert state.stop_reason == "budget_exhausted"
    assert state.spent == 2 * MICROS
    forecast = machine.forecast(two_stages(), state)
    assert forecast.probabilities == pytest.approx((0.7, 0.3))


def test_vote_at_the_threshold_passes():
    ensemble = staged([Stump(0, 0.5, (1,))], (1.0,), (1,), (1.0,))

    assert play(ensemble, [1.0]).stop_reason == "all_known"
    assert play(ensemble, [0.0]).stop_reason == "rejected_early"


def test_features_that_are_missing_abstain():
    ensemble = two_stages()

    state = play(ensemble, [math.nan, math.nan, 0.0])

    assert state.stop_reason == "rejected_early"
    assert state.spent == MICROS
    assert count_passed(Position.of(ensemble, state)) == -2


def strict_stages(**more) -> Ensemble:
    """Reject where f0 is not high, then where f1 is not; both thresholds are above 0.

    The second class has a chance of 0.2 at first, then 0.3, in the end 0.9.
    """
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(2)]
    return staged(stumps, (1.0, 1.0), (1, 2), (0.5, 0.5), **more)


@pytest.mark.parametrize(
    ("row", "passed", "reason", "chance"),
    [
        ([math.nan, math.nan], 0, "all_known", 0.2),
        ([1.0, math.nan], 1, "all_known", 0.3),
        ([math.nan, 1.0], 2, "all_known", 0.9),
        ([math.nan, 0.0], -2, "rejected_early", 0.11),
        ([0.0, math.nan], -1, "rejected_early", 0.1),
    ],
)
def test_stage_without_any_vote_neither_rejects_nor_passes(row, passed, reason, chance):
    ensemble = strict_stages()

    state = play(ensemble, row)

    assert state.stop_reason == reason
    assert count_passed(Position.of(ensemble, state)) == passed
    forecast = machine.forecast(ensemble, state)
    assert forecast.probabilities == pytest.approx((1 - chance, chance))
    assert forecast.vote == (1 if passed == 2 else 0)
    walks = simulate.simulate(ensemble, np.array([row]), [None])
    assert walks.marks.tolist() == [[passed]]


@pytest.mark.parametrize("outcome", ["refused", "unavailable", "unknown"])
def test_case_of_which_nothing_is_known_is_not_rejected(outcome):
    ensemble = strict_stages(priors=(0.2, 0.8))
    first, second = ensemble.cascade.stages
    likely = Cascade((replace(first, chance_reaching=0.8), second), 0.9)
    ensemble = replace(ensemble, cascade=likely)
    state = machine.start(ensemble, None)

    while state.next_feature_idx is not None:
        state = observe(ensemble, state, state.next_feature_idx, outcome)

    assert state.stop_reason == "all_known"
    forecast = machine.forecast(ensemble, state)
    assert (forecast.label, forecast.vote) == (1, 1)
    assert forecast.probabilities == pytest.approx((0.2, 0.8))


def test_budget_that_ends_a_session_after_a_stage_without_any_vote():
    state = play(strict_stages(), [math.nan, 1.0], MICROS // 2)
    assert state.stop_reason == "budget_exhausted"
    features = (Feature("f0", cost=0), Feature("f1", cost=MICROS))
    ensemble = strict_stages(catalogue=Catalogue(features))

    state = play(ensemble, [math.nan, 1.0], MICROS // 2)

    assert state.stop_reason == "budget_exhausted"
    assert count_passed(Position.of(ensemble, state)) == 0
    walks = simulate.simulate(ensemble, np.array([[math.nan, 1.0]]), [MICROS // 2])
    assert walks.marks.tolist() == [[0]]


def test_what_is_known_at_the_start_can_reject_at_once():
    state = machine.start(two_stages(), None, known={0: 0.0})

    assert state.stop_reason == "rejected_early"
    assert state.spent == 0


def test_pending_result_is_waited_for():
    ensemble = two_stages()
    state = machine.start(ensemble, None, stop=StopRule(certain=False))
    state = observe(ensemble, state, 0, "ordered")
    assert state.next_feature_idx == 1

    state = observe(ensemble, state, 0, "value", 0.0)

    assert state.stop_reason == "rejected_early"


def test_correction_of_a_pending_result_reopens_a_session():
    ensemble = two_stages()
    state = machine.start(ensemble, None, stop=StopRule(certain=False))
    state = observe(ensemble, state, 2, "ordered")
    state = observe(ensemble, state, 0, "value", 0.0)
    assert state.stop_reason == "rejected_early"

    state = observe(ensemble, state, 0, "value", 1.0)

    assert state.stop_reason is None
    assert state.next_feature_idx == 1


def test_costs_of_errors_move_the_label_but_not_the_vote():
    costs = ((0.0, 1.0), (50.0, 0.0))
    ensemble = two_stages(error_costs=costs)

    forecast = machine.forecast(ensemble, play(ensemble, [0.0, 1.0, 1.0]))

    assert (forecast.label, forecast.vote) == (1, 0)


def test_confident_session_may_stop_before_a_stage_ends():
    rule = StopRule(certain=False, confidence=0.75)

    state = machine.start(two_stages(), None, stop=rule)

    assert state.stop_reason == "confident"
    assert state.next_feature_idx == 0


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_other_policies_ask_for_all_of_a_cascade(policy):
    ensemble = two_stages()

    state = play(ensemble, [0.0, 1.0, 1.0], policy=policy)

    assert state.stop_reason == "all_known"
    assert state.spent == 3 * MICROS
    assert machine.forecast(ensemble, state).vote == 1
    walks = simulate.simulate(ensemble, np.array([[0.0, 1.0, 1.0]]), [None], policy)
    assert walks.spent.tolist() == [[3 * MICROS]]
    assert simulate.class_votes(ensemble, walks).tolist() == [[1]]
    curve = curves.evaluate(ensemble, rare_rows(), [0, MICROS, None], policy)
    assert curve.max_spends == (0, MICROS, 3 * MICROS)


def rare_rows() -> Dataset:
    values = np.array(list(product([0.0, 1.0], repeat=3)))
    return make_dataset(values, np.arange(8) % 2, 2)


def test_rejection_costs_less_than_the_whole(ensemble):
    dataset = rare(50)

    made = [
        curves.evaluate(ensemble, dataset, [None], policy)
        for policy in ("cascade", "ordered")
    ]

    assert made[0].mean_spends[0] < 0.8 * made[1].mean_spends[0]
    walks = simulate.simulate(ensemble, dataset.values, [None])
    is_rejected = walks.marks[:, 0] < 0
    assert is_rejected.mean() > 0.4
    assert walks.spent[is_rejected, 0].mean() < walks.spent[~is_rejected, 0].mean()
    codes = [code for code, _ in judged(ensemble, dataset.values)]
    assert codes == walks.marks[:, 0].tolist()
