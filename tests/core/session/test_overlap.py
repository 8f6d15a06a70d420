"""Which calls leave together, and what waiting does to a session."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.plans import overlap
from askless.core.session.plans.overlap import Awaited, choose_move, expect_left
from askless.core.session.policies.adaptive import choose_way
from askless.core.session.position import Position
from askless.core.session.state import Aim, Pace, State, StopRule
from askless.core.simulation.timed import TimedFigures, play_in_time
from tests.core.session.test_adaptive import always
from tests.panels import make_aimed
from tests.sessions import BUNDLE, FEE, bill_by_call, small_ensemble

DEAR, AT_ONCE = 1_000.0, 3
ONE_SECOND = (1.0, 1.0, 1.0)


def open_paced(
    ensemble: Ensemble,
    second_price: float = DEAR,
    at_once: int = AT_ONCE,
    seconds: tuple[float, ...] = ONE_SECOND,
    **options,
) -> State:
    state = machine.start(ensemble, options.pop("budget", None), **options)
    pace = Pace(seconds, second_price, at_once)
    return machine.decide_next_step(ensemble, replace(state, pace=pace))


def send(state: State, *calls: Awaited) -> State:
    return replace(state, held=state.held + sum(call.amount for call in calls))


def test_without_a_call_on_its_way_the_policy_asks():
    ensemble = small_ensemble((10, 20, 30))

    move = choose_move(ensemble, open_paced(ensemble), [])

    assert (move.feature_idx, move.is_over) == (0, False)


def test_what_is_needed_for_sure_leaves_beside_where_seconds_cost_anything():
    ensemble = small_ensemble((10, 20, 30))
    call = Awaited(0, 10, 1.0)

    moves = [
        choose_move(ensemble, send(open_paced(ensemble, price), call), [call])
        for price in (0.0, 1e-6)
    ]

    assert [move.feature_idx for move in moves] == [None, 1]


@pytest.mark.parametrize(("second_price", "asked"), [(1_000.0, 2), (10.0, None)])
def test_what_may_not_be_needed_leaves_where_the_wait_costs_more(second_price, asked):
    """Two of three votes that agree decide; some of the drawn ones do not."""
    ensemble = small_ensemble((10, 20, 30))
    calls = [Awaited(0, 10, 1.0), Awaited(1, 20, 1.0)]
    state = send(open_paced(ensemble, second_price), *calls)

    assert choose_move(ensemble, state, calls).feature_idx == asked


def test_it_hangs_on_how_long_the_others_still_take():
    ensemble = small_ensemble((10, 20, 30))
    calls = [Awaited(0, 10, 0.001), Awaited(1, 20, 0.001)]
    state = send(open_paced(ensemble), *calls)

    assert choose_move(ensemble, state, calls).feature_idx is None


def test_no_more_leave_than_agreed():
    ensemble = small_ensemble((10, 20, 30))
    call = Awaited(0, 10, 1.0)
    state = send(open_paced(ensemble, at_once=1), call)

    assert choose_move(ensemble, state, [call]).feature_idx is None


def test_a_case_that_is_decided_waits_for_nothing():
    ensemble = small_ensemble((10, 20), [(0, 3.0), (1, 1.0)])
    calls = [Awaited(1, 20, 1.0)]
    state = open_paced(ensemble, seconds=(1.0, 1.0))
    state = machine.observe(ensemble, state, [machine.Answer(0, "value", 1.0)])

    move = choose_move(ensemble, send(state, *calls), calls)

    assert move.is_over


def test_the_last_question_is_waited_for_alone():
    ensemble = small_ensemble((10,))
    call = Awaited(0, 10, 1.0)
    state = send(open_paced(ensemble, seconds=(1.0,)), call)

    move = choose_move(ensemble, state, [call])

    assert (move.feature_idx, move.is_over) == (None, False)


def test_what_is_on_its_way_is_not_held_against_it():
    """Its amount is all that is left of the budget."""
    ensemble = small_ensemble((10, 20))
    call = Awaited(0, 10, 1.0)
    state = send(open_paced(ensemble, seconds=(1.0, 1.0), budget=10), call)

    move = choose_move(ensemble, state, [call])

    assert (move.feature_idx, move.is_over) == (None, False)


def test_a_fee_is_not_reserved_twice_beside_a_call_that_may_pay_it():
    """The call for f0 may pay it; once it is paid, f1 leaves beside f2."""
    ensemble = small_ensemble((10, 10, 10), members={0: FEE, 1: FEE})
    state = open_paced(ensemble, stop=StopRule(certain=False))
    call = Awaited(0, 30, 1.0)

    paid = machine.observe(ensemble, state, [machine.Answer(0, "value", 1.0)])
    other = Awaited(2, 10, 1.0)

    assert choose_move(ensemble, send(state, call), [call]).feature_idx is None
    assert choose_move(ensemble, send(paid, other), [other]).feature_idx == 1


@pytest.mark.parametrize(("budget", "asked"), [(30, 1), (29, None)])
def test_what_leaves_beside_fits_what_the_others_leave(monkeypatch, budget, asked):
    """Also where they may come back empty, and cost nothing."""
    ensemble = small_ensemble((10, 20), [(0, 1.0), (1, 1.0)])
    call = Awaited(0, 10, 1.0)
    options = {"budget": budget, "seconds": (1.0, 1.0), "stop": StopRule(certain=False)}
    state = send(open_paced(ensemble, **options), call)
    monkeypatch.setattr(overlap, "expect_empty", lambda _: np.ones(2))

    assert choose_move(ensemble, state, [call]).feature_idx == asked


def test_an_overdue_call_is_expected_to_take_half_as_long_again():
    assert expect_left(2.0, 0.5) == 1.5
    assert expect_left(2.0, 8.0) == 4.0


def test_waiting_counts_as_a_price_of_going_on():
    ensemble = always(10, 20, rate=0.001, prices=np.array([0, 20, 30]))
    aim = Aim(error_price=1_000_000)
    states = [
        open_paced(ensemble, price, at_once, (2.0, 3.0), aim=aim)
        for price, at_once in ((0.0, 2), (100.0, 2), (100.0, 1))
    ]

    ways = [choose_way(Position.of(ensemble, state)) for state in states]
    thresholds = [way.threshold for way in ways]

    # Side by side the longest counts, one by one the sum.
    assert np.diff(thresholds).round(9).tolist() == [0.3, 0.2]


def test_a_price_that_is_paid_is_no_price_of_waiting():
    ensemble = always(10, 20, rate=0.001, prices=np.array([0, 20, 30]))
    state = open_paced(ensemble, 0.0, 2, (2.0, 3.0), aim=Aim(error_price=1_000_000))
    paid = replace(state, pace=replace(state.pace, sunk=((0, 10),)))

    before, after = (
        choose_way(Position.of(ensemble, place)).threshold for place in (state, paid)
    )

    assert before - after == pytest.approx(0.01)


def test_a_session_in_time_adds_up_money_and_seconds():
    ensemble = small_ensemble((10, 20, 30))
    values, seconds = np.array([1.0, 0.0, 1.0]), np.array([1.0, 2.0, 4.0])
    never = {"stop": StopRule(certain=False)}

    slow = play_in_time(ensemble, open_paced(ensemble, 0.0, **never), values, seconds)
    quick = play_in_time(ensemble, open_paced(ensemble, **never), values, seconds)

    assert (slow.spent, slow.seconds, slow.n_calls) == (60, 7.0, 3)
    assert (quick.spent, quick.seconds, quick.n_calls) == (60, 4.0, 3)
    assert slow.label == quick.label == 1


def test_one_that_ends_early_pays_for_what_it_does_not_wait_for():
    ensemble = small_ensemble((10, 20, 30))
    values, seconds = np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 9.0])

    end = play_in_time(ensemble, open_paced(ensemble), values, seconds)

    assert (end.spent, end.seconds, end.n_calls) == (60, 2.0, 3)


def test_empty_answers_cost_what_they_cost():
    ensemble = small_ensemble((10, 20, 30))
    billed = bill_by_call(ensemble, [1])
    values, seconds = np.full(3, np.nan), np.array([1.0, 2.0, 4.0])

    ends = [
        play_in_time(served, open_paced(served, 0.0), values, seconds)
        for served in (ensemble, billed)
    ]

    assert [end.spent for end in ends] == [0, 20]


def test_a_bundle_comes_as_one_call():
    ensemble = small_ensemble((0, 0, 30), members={0: BUNDLE, 1: BUNDLE})
    values, seconds = np.array([1.0, np.nan, 0.0]), np.array([2.0, 2.0, 4.0])

    end = play_in_time(ensemble, open_paced(ensemble), values, seconds)

    assert (end.spent, end.n_calls) == (120, 2)


def test_without_a_pace_calls_come_one_by_one():
    ensemble = small_ensemble((10, 20, 30))
    state = machine.start(ensemble, None, stop=StopRule(certain=False))

    end = play_in_time(ensemble, state, np.ones(3), np.ones(3))

    assert (end.seconds, end.n_calls) == (3.0, 3)


def test_numbers_are_drawn_as_panels_clip_them():
    ensemble = make_aimed()
    classes = np.zeros(500, np.int64)

    for idx in range(len(ensemble.catalogue.features)):
        random = np.random.default_rng(0)
        drawn = overlap.draw_typical(ensemble, "panels", idx, classes, random)

        assert {*drawn} <= {*overlap.list_quantiles(ensemble, idx)}
        assert np.unique(drawn).size > 10


def test_booleans_are_drawn_by_their_share(monkeypatch):
    ensemble = small_ensemble((10, 20))
    shares = {0.0: 0.75, 1.0: 0.25}
    monkeypatch.setattr(overlap, "summarise_training_values", lambda *_: (None, shares))

    assert overlap.list_quantiles(ensemble, 0).mean() == 0.25


def test_what_only_votes_read_has_its_possible_values():
    ensemble = small_ensemble((10, 20))

    assert overlap.list_quantiles(ensemble, 0).size == 2


def test_what_nothing_reads_is_zero():
    ensemble = small_ensemble((10, 20), [(0, 1.0)])
    features = (*ensemble.catalogue.features[:1], Feature("idle", cost=5))
    ensemble = replace(ensemble, catalogue=Catalogue(features))

    assert overlap.list_quantiles(ensemble, 1).tolist() == [0.0]


def test_numbers_of_few_values_are_drawn_among_them():
    assert overlap.round_to_seen(np.array([0.2, 0.9]), (0.0, 1.0)).tolist() == [
        0.0,
        1.0,
    ]
    assert overlap.round_to_seen(np.array([0.2, 0.9]), ()).tolist() == [0.2, 0.9]


def test_drawn_values_agree_with_the_class_that_they_are_drawn_for():
    ensemble = small_ensemble((10, 20), [(0, 1.0), (1, 1.0)])
    random = np.random.default_rng(0)

    drawn = [
        overlap.draw_typical(
            ensemble, "ordered", 0, np.full(400, position), random
        ).mean()
        for position in (0, 1)
    ]

    assert drawn[0].mean() < drawn[1].mean()


def test_a_total_adds_seconds_at_their_price():
    figures = TimedFigures(None, 3, error=0.1, spend=50_000.0, seconds=2.0, calls=1.0)

    assert figures.total(0.25) == 550_000.0
