"""Margins by hand, probabilities by formula, labels by cost."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.catalogue.catalogue import UNSEEN, Catalogue, Feature
from askless.core.model.ensemble import Calibration, Ensemble
from askless.core.model.votes import raw_classes
from askless.core.session import machine
from askless.core.session.machine import make_forecast
from askless.core.session.policies import POLICIES, sample
from askless.core.session.probability import compute_probabilities, decide_label
from askless.core.session.rows.walks import Standing
from askless.core.session.state import Forecast, State, StopRule
from tests import strategies
from tests.sessions import NEVER, draw_many, observe_all, small_ensemble

MARGINS = st.integers(-16, 16).map(lambda k: k / 16)
SHARES = st.integers(0, 16).map(lambda k: k / 16)


def make_ensemble(
    hypotheses: Sequence[tuple[int, float]], priors=(0.25, 0.75), **fields
) -> Ensemble:
    """Features of cost 1."""
    costs = [1] * (1 + max((idx for idx, _ in hypotheses), default=0))
    return small_ensemble(costs, hypotheses, priors=priors, **fields)


def play(ensemble: Ensemble, budget, answers, **fields) -> State:
    state = machine.start(ensemble, budget, **{"stop": NEVER, **fields})
    return observe_all(ensemble, state, *answers)


@pytest.mark.parametrize("policy", ["ordered", "sample"])
@pytest.mark.parametrize(
    ("priors", "label"), [((0.25, 0.75), 1), ((0.75, 0.25), 0), ((0.5, 0.5), 1)]
)
def test_nothing_known_gives_the_prior_and_the_majority(policy, priors, label):
    ensemble = make_ensemble([(0, 1.0), (1, 1.0)], priors)

    forecast = machine.forecast(ensemble, play(ensemble, None, [], policy=policy))

    assert (forecast.label, forecast.vote) == (label, label)
    assert forecast.probabilities == priors
    assert (forecast.margin, forecast.known_share) == (0.0, 0.0)


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_ensemble_without_hypotheses_gives_the_prior(policy):
    ensemble = make_ensemble([])

    forecast = machine.forecast(ensemble, play(ensemble, None, [], policy=policy))

    assert forecast == Forecast(1, 1, (0.25, 0.75), 0.0, 0.0)


@pytest.mark.parametrize("priors", [(0.25, 0.75), (0.75, 0.25)])
def test_tie_gives_the_prior_and_the_majority(priors):
    ensemble = make_ensemble([(0, 0.1), (1, 0.2), (2, 0.3)], priors)
    answers = [(0, "value", 1.0), (1, "value", 1.0), (2, "value", 0.0)]

    forecast = machine.forecast(ensemble, play(ensemble, None, answers))

    assert (forecast.label, forecast.vote) == (np.argmax(priors), np.argmax(priors))
    assert forecast.probabilities == priors
    assert (abs(forecast.margin) < 1e-12, forecast.known_share) == (True, 1.0)


@pytest.mark.parametrize(
    ("budget", "answers", "margin", "share"),
    [
        # The plan is f0, f1 (alpha 4 + 2), and f2 (alpha 2) where it fits.
        (2, [(0, "value", 1.0)], 4 / 6, 4 / 8),
        (2, [(0, "value", 0.0)], -4 / 6, 4 / 8),
        (2, [(0, "value", 1.0), (1, "value", 1.0)], 2 / 6, 6 / 8),
        (2, [(0, "ordered")], 0.0, 0.0),
        (2, [(0, "value", 1.0), (1, "unavailable")], 6 / 6, 6 / 8),
        (2, [(0, "unavailable")], 0.0, 0.0),
        (None, [(0, "value", 1.0)], 4 / 8, 4 / 8),
        # A value that no stump can read leaves its alpha out, however it is missing.
        (None, [(0, "value", math.nan)], 0.0, 0.0),
        (None, [(0, "value", math.nan), (1, "value", 0.0)], 2 / 4, 2 / 8),
        (3, [(0, "refused"), (1, "value", 0.0), (2, "value", 0.0)], 0.0, 4 / 8),
    ],
)
def test_margin_of_ordered_is_the_vote_over_the_alpha_of_the_plan(
    budget, answers, margin, share
):
    ensemble = make_ensemble([(0, 4.0), (1, -2.0), (2, 2.0)])
    if (1, "unavailable") in answers:
        answers = [*answers, (2, "value", 1.0)]

    forecast = machine.forecast(ensemble, play(ensemble, budget, answers))

    assert (forecast.margin, forecast.known_share) == (margin, share)
    assert (forecast.n_draws, forecast.hoeffding_p) == (None, None)


def test_margin_of_ordered_counts_no_hypothesis_beyond_the_plan():
    ensemble = make_ensemble([(0, 1.0), (1, 1.0), (0, -3.0)])

    forecast = machine.forecast(ensemble, play(ensemble, 1, [(0, "value", 1.0)]))

    assert (forecast.margin, forecast.known_share) == (1.0, 0.2)


def test_margin_of_sample_is_votes_over_draws_that_could_vote():
    ensemble = make_ensemble([(0, 4.0), (1, -2.0), (2, 2.0), (0, -1.0)])
    answers = [(0, "value", 1.0), (1, "unavailable")]
    state = play(ensemble, None, answers, policy="sample", seed=1)
    drawn = draw_many(ensemble, sample.uniforms(1, 0).random(state.n_draws))
    ballots = [{0: 1, 3: -1}[h] for h in drawn.tolist() if h in (0, 3)]

    forecast = machine.forecast(ensemble, state)

    assert len(ballots) > 0
    assert forecast.n_draws == len(ballots)
    assert forecast.margin == sum(ballots) / len(ballots)
    assert forecast.known_share == 5 / 9


@pytest.mark.parametrize("n_draws", [1, 7])
@pytest.mark.parametrize("margin", [0.0, 0.5, -1.0])
def test_hoeffding_p_is_the_one_sided_bound(n_draws, margin):
    ensemble = make_ensemble([(0, 1.0)])

    standing = Standing(
        np.array([margin]), np.array(0.5), np.zeros(1), np.array(n_draws)
    )

    forecast = make_forecast(ensemble, POLICIES["sample"], standing)

    assert forecast.hoeffding_p == pytest.approx(math.exp(-n_draws * margin**2 / 2))


def test_hoeffding_p_is_one_before_the_first_draw():
    ensemble = make_ensemble([(0, 1.0)])

    forecast = machine.forecast(ensemble, play(ensemble, None, [], policy="sample"))

    assert (forecast.n_draws, forecast.hoeffding_p) == (0, 1.0)


def test_sample_gives_the_full_vote_once_all_is_known():
    ensemble = make_ensemble([(0, 1.0), (1, -3.0)])
    answers = [(0, "value", 1.0), (1, "value", 1.0)]

    forecast = machine.forecast(
        ensemble, play(ensemble, None, answers, policy="sample")
    )

    assert (forecast.margin, forecast.known_share, forecast.n_draws) == (
        -0.5,
        1.0,
        None,
    )


def test_sample_gives_the_full_vote_once_certain():
    ensemble = make_ensemble([(0, 1.0), (1, 3.0)])

    state = play(ensemble, None, [(1, "value", 1.0)], policy="sample", stop=StopRule())

    assert state.stop_reason == "certain"
    assert machine.forecast(ensemble, state).margin == 0.75


def test_certain_sample_counts_only_what_can_still_be_paid():
    ensemble = make_ensemble([(0, 1.0), (1, 3.0), (2, 1.0)])
    dear = replace(ensemble.catalogue.features[2], cost=100)
    catalogue = Catalogue((*ensemble.catalogue.features[:2], dear))
    ensemble = replace(ensemble, catalogue=catalogue)

    state = play(ensemble, 2, [(1, "value", 1.0)], policy="sample", stop=StopRule())

    assert machine.forecast(ensemble, state).margin == 0.75


@pytest.mark.parametrize("policy", ["ordered", "sample"])
@pytest.mark.parametrize("answer", [("unavailable",), ("value", UNSEEN)])
def test_unseen_category_is_left_out_of_the_forecast_as_a_missing_value_is(
    policy, answer
):
    ensemble = make_ensemble([(0, 4.0), (1, 3.0), (0, 1.0)])
    features = (
        Feature("f0", "category", cost=1, categories=("a", "b")),
        ensemble.catalogue.features[1],
    )
    first, second, third = ensemble.hypotheses
    ensemble = replace(
        ensemble,
        catalogue=Catalogue(features),
        hypotheses=(
            replace(first, cut=1.0, is_category=True),
            second,
            replace(third, cut=0.0, is_category=True),
        ),
    )

    state = play(ensemble, None, [(0, *answer), (1, "value", 1.0)], policy=policy)
    forecast = machine.forecast(ensemble, state)

    assert (forecast.margin, forecast.known_share) == (1.0, 3 / 8)


def positive_probability(ensemble, score, share, policy="ordered"):
    scores = np.array([score])
    return compute_probabilities(ensemble, policy, scores, np.array(share))[1]


@pytest.mark.parametrize("margin", [-1.0, -0.25, 0.125, 1.0])
@pytest.mark.parametrize("share", [0.25, 1.0])
def test_probability_without_calibration_is_friedmans(margin, share):
    ensemble = make_ensemble([(0, 1.5), (1, 0.5)])

    probability = positive_probability(ensemble, margin, share)

    assert probability == pytest.approx(1 / (1 + math.exp(-2 * margin)))


def test_probability_of_a_long_lead_is_finite():
    ensemble = make_ensemble([(0, 1e6)])

    chances = [positive_probability(ensemble, score, 1.0) for score in (-1e6, 1e6)]

    assert chances == pytest.approx([0.0, 1.0])
    assert chances[0] > 0.0


@pytest.mark.parametrize("margin", [-0.5, 0.75])
@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_calibrated_logit_is_the_formula(margin, share):
    fitted = Calibration(
        ((0.5,), (0.25,), (0.0,), (-0.25,), (-0.5,)), (2.0, 2.5, 3.0, 3.5, 4.0)
    )
    ensemble = make_ensemble([(0, 1.0)], calibrations=(("ordered", fitted),))

    probability = positive_probability(ensemble, margin, share)

    logit = 0.5 - share + 2 * margin * (2.0 * (1 - share) + 4.0 * share)
    assert math.log(probability / (1 - probability)) == pytest.approx(logit)


def test_each_policy_has_its_own_calibration():
    one, other = strategies.calibration(), strategies.calibration(slope=3.0)
    ensemble = make_ensemble(
        [(0, 1.0)], calibrations=(("ordered", one), ("sample", other))
    )

    ordered, sample = (
        positive_probability(ensemble, 0.5, 1.0, policy)
        for policy in ("ordered", "sample")
    )

    assert ordered < sample


@given(strategies.stump_ensembles(), MARGINS, MARGINS, SHARES)
def test_probability_is_monotone_in_a_margin_of_one_sign(ensemble, one, other, share):
    low, high = sorted((one, other))
    if low <= 0 <= high:
        return

    chances = [
        positive_probability(ensemble, margin, share, "sample")
        for margin in (low, high)
    ]

    assert chances == sorted(chances)


@pytest.mark.parametrize(
    ("error_costs", "label"),
    [(None, 1), (((0, 1), (1, 0)), 1), (((0, 3), (1, 0)), 0), (((0, 1), (9, 0)), 1)],
)
def test_error_costs_flip_the_label_and_not_the_vote(error_costs, label):
    ensemble = make_ensemble([(0, 0.5)], error_costs=error_costs)

    forecast = machine.forecast(ensemble, play(ensemble, 1, [(0, "value", 1.0)]))

    assert forecast.probabilities[1] == pytest.approx(1 / (1 + math.exp(-1)))
    assert (forecast.label, forecast.vote) == (label, 1)


def test_label_is_the_majority_where_both_cost_the_same():
    ensemble = make_ensemble([(0, 1.0)], error_costs=((0.0, 3.0), (1.0, 0.0)))

    label = decide_label(ensemble, np.array([0.25, 0.75]))

    assert label == int(ensemble.preference[0])


@given(strategies.stump_ensembles(), st.lists(MARGINS, min_size=1, max_size=5))
def test_many_votes_are_decided_as_each(ensemble, margins):
    votes = np.array(margins)[:, None] * ensemble.alpha_sums[-1]

    many = raw_classes(ensemble, votes)

    assert many.tolist() == [int(raw_classes(ensemble, vote)) for vote in votes]
