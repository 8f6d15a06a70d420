"""Replay of logged cases: what is supported, bounds, estimates, parts of the saving."""

import math

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.session.state import Aim, Answer, StopRule
from askless.core.shadow.logs import (
    LEAST_DONORS,
    UNKNOWN,
    charge_offers,
    fill_lacking,
    gather_donors,
    price_offers,
)
from askless.core.shadow.replay import (
    charge_logged,
    compare_labels,
    cut_waterfall,
    replay_cases,
    split_saving,
)
from askless.core.simulation.silent_play import AnswerLog, ReplayTerms, replay_case
from tests.shadow import ASKS, UNIT, add_known, draw_cases, forget, make_doubtful

AIM = Aim(mean_budget=ASKS)
COSTS = 1.0 - np.eye(2)
NO_STOP = StopRule(certain=False, spend="all")


def play_alone(ensemble, cases, row):
    """Return the session of one case, question by question."""
    answers = {}
    for idx in np.flatnonzero(cases.orders[row]).tolist():
        value = float(cases.values[row, idx])
        is_empty = math.isnan(value)
        outcome = "unavailable" if is_empty else "value"
        answers[idx] = Answer(idx, outcome, None if is_empty else value)
    terms = ReplayTerms(None, stream=row, stop=NO_STOP, aim=AIM)
    return replay_case(ensemble, AnswerLog({}, answers), terms)


@pytest.mark.parametrize("billing", ["per_call", "per_answer"])
def test_cases_end_as_sessions_that_are_played_alone(billing):
    ensemble, cases = make_doubtful(billing=billing), draw_cases(60, asks=0.5)

    replayed = replay_cases(ensemble, AIM, cases, cases.values)

    alone = [play_alone(ensemble, cases, row) for row in range(cases.n_cases)]
    is_supported = np.array([played.is_supported for played in alone])
    assert 0 < is_supported.sum() < cases.n_cases
    assert replayed.is_supported.tolist() == is_supported.tolist()
    for row in np.flatnonzero(is_supported).tolist():
        assert replayed.spent[row] == alone[row].spent
        assert replayed.labels[row] == alone[row].forecast.label
        assert set(np.flatnonzero(replayed.is_asked[row])) == {*alone[row].asked}


def test_bounds_begin_at_what_was_spent_before_the_lacking_answer():
    ensemble, cases = make_doubtful(billing="per_answer"), draw_cases(60, asks=0.5)

    replayed = replay_cases(ensemble, AIM, cases, cases.values)

    for row in np.flatnonzero(~replayed.is_supported).tolist():
        spent = play_alone(ensemble, cases, row).spent
        assert replayed.least[row] == spent
        assert replayed.most[row] == spent + 3 * UNIT


def test_a_call_that_costs_anyway_is_in_the_lower_bound():
    ensemble, cases = make_doubtful(billing="per_call"), draw_cases(60, asks=0.5)

    replayed = replay_cases(ensemble, AIM, cases, cases.values)

    is_open = ~replayed.is_supported
    assert is_open.any()
    assert (replayed.least == replayed.most)[is_open].all()


@pytest.mark.parametrize("seed", range(3))
def test_the_truth_lies_within_bounds_of_a_log_that_was_cut(seed):
    ensemble = make_doubtful(billing="per_answer")
    full = draw_cases(200, seed)
    orders = full.orders.copy()
    orders[::2, 1] = 0
    values = np.where(orders > 0, full.values, np.nan)
    cut = type(full)(**(vars(full) | {"orders": orders, "values": values}))
    donors = gather_donors(ensemble, cut)
    filled = fill_lacking(ensemble, donors, cut, np.random.default_rng(seed))

    truth = replay_cases(ensemble, AIM, full, full.values)
    replayed = replay_cases(ensemble, AIM, cut, filled)

    assert not replayed.is_supported.all()
    assert (replayed.least <= truth.spent).all()
    assert (truth.spent <= replayed.most).all()
    same = replayed.is_supported
    assert (replayed.labels == truth.labels)[same].all()
    true, bounded = (compare_labels(COSTS, full, r) for r in (truth, replayed))
    for name in ("loss", "differs", "worse"):
        assert (bounded[f"{name}_least"] <= true[name]).all()
        assert (true[name] <= bounded[f"{name}_most"]).all()


def test_answers_that_lack_are_those_of_older_cases_of_the_same_class():
    ensemble, cases = make_doubtful(), draw_cases(300, asks=0.5, empty=0.0)
    values = cases.values.copy()
    is_asked = cases.orders[:, 1] > 0
    # The sign tells the class, so a donor of the other class would show.
    sign = np.where(cases.outcomes == 1, 1.0, -1.0)
    values[is_asked, 1] = (sign * np.abs(values[:, 1]))[is_asked]
    cases = type(cases)(**(vars(cases) | {"values": values}))
    donors = gather_donors(ensemble, cases)

    filled = fill_lacking(ensemble, donors, cases, np.random.default_rng(0))

    assert not np.isnan(filled).any()
    assert (np.sign(filled[:, 1]) == sign).all()
    assert np.isin(filled[:, 1], values[is_asked, 1]).all()
    assert (filled[is_asked] == values[is_asked]).all()


def test_an_empty_answer_is_handed_on_and_nobody_asked_is_not():
    ensemble = make_doubtful()
    cases = draw_cases(400, asks=0.5, empty=0.3)
    donors = gather_donors(ensemble, cases)

    filled = fill_lacking(ensemble, donors, cases, np.random.default_rng(1))

    is_drawn = cases.orders[:, 1] == 0
    assert np.isnan(filled[is_drawn, 1]).mean() == pytest.approx(0.3, abs=0.1)


def test_empty_answers_that_led_on_to_a_vendor_do_not_make_it_seem_empty():
    """A waterfall asks f1 mostly where f0 was empty, and both miss the same cases."""
    ensemble, random = make_doubtful(), np.random.default_rng(0)
    cases = draw_cases(2000, empty=0.0)
    is_empty = random.random(2000) < 0.4
    values, orders = cases.values.copy(), cases.orders.copy()
    values[is_empty, 0] = np.nan
    values[random.random(2000) < np.where(is_empty, 0.7, 0.05), 1] = np.nan
    is_lacking = ~is_empty & (random.random(2000) < 0.8)
    orders[is_lacking, 1] = 0
    values[is_lacking, 1] = np.nan
    cases = type(cases)(**(vars(cases) | {"values": values, "orders": orders}))

    filled = fill_lacking(ensemble, gather_donors(ensemble, cases), cases, random)

    in_log = np.isnan(values[orders[:, 1] > 0, 1]).mean()
    assert in_log > 0.5
    assert np.isnan(filled[is_lacking, 1]).mean() == pytest.approx(0.05, abs=0.03)


def test_without_donors_nothing_is_drawn():
    ensemble = make_doubtful()
    cases = draw_cases(100, asks=0.0)

    donors = gather_donors(ensemble, cases)
    filled = fill_lacking(ensemble, donors, cases, np.random.default_rng(0))

    assert donors.has(0)
    assert not donors.has(1)
    assert np.isnan(filled[:, 1]).all()


def test_few_donors_of_a_class_leave_those_of_all_classes():
    ensemble = make_doubtful()
    cases = draw_cases(100, asks=0.5)
    outcomes = np.zeros(100, np.int64)
    outcomes[: LEAST_DONORS - 1] = 1
    cases = type(cases)(**(vars(cases) | {"outcomes": outcomes}))

    donors = gather_donors(ensemble, cases)
    filled = fill_lacking(ensemble, donors, cases, np.random.default_rng(0))

    assert {target for offer, target, _ in donors.lists if offer == 1} == {None, 0}
    is_one = (outcomes == 1) & (cases.orders[:, 1] == 0)
    is_handed = np.isin(filled[is_one, 1], cases.values[:, 1])
    assert (is_handed | np.isnan(filled[is_one, 1])).all()


def test_what_costs_nothing_is_no_vendor():
    ensemble = add_known(make_doubtful())
    plain = draw_cases(40, asks=0.5)
    values = np.column_stack([plain.values, np.ones(40)])
    orders = np.column_stack([plain.orders, np.zeros(40, np.int64)])
    cases = type(plain)(**(vars(plain) | {"values": values, "orders": orders}))

    replayed = replay_cases(ensemble, AIM, cases, values)
    as_before = replay_cases(make_doubtful(), AIM, plain, plain.values)

    assert not replayed.is_asked[:, 2].any()
    assert replayed.is_supported.tolist() == as_before.is_supported.tolist()
    assert replayed.spent.tolist() == as_before.spent.tolist()
    assert gather_donors(ensemble, cases).has(1)
    assert not gather_donors(ensemble, cases).has(2)


def test_a_dropped_vendor_charges_nothing_and_answers_nothing():
    ensemble, cases = make_doubtful(), draw_cases(60)

    without = replay_cases(ensemble, AIM, cases, cases.values, dropped=1)

    hidden = cases.values.copy()
    hidden[:, 1] = np.nan
    expected = replay_cases(ensemble, AIM, cases, hidden)
    assert not without.is_asked[:, 1].any()
    assert without.is_supported.all()
    assert without.labels.tolist() == expected.labels.tolist()
    assert without.spent.tolist() == (2 * UNIT * without.is_asked[:, 0]).tolist()


def test_a_bundle_is_one_vendor_with_one_price():
    features = [Feature("a", cost=0, group="g"), Feature("b", cost=0, group="g")]
    catalogue = Catalogue((*features, Feature("c", cost=UNIT)), (Group("g", price=7),))

    charges = charge_offers(catalogue, np.array([[np.nan, 1, 1], [np.nan] * 3]))

    assert price_offers(catalogue).tolist() == [7, UNIT]
    assert charges.tolist() == [[7, UNIT], [0, 0]]


@pytest.mark.parametrize(("billing", "charged"), [("per_call", 3), ("per_answer", 0)])
def test_an_empty_answer_costs_what_its_billing_says(billing, charged):
    catalogue = make_doubtful(billing=billing).catalogue

    charges = charge_offers(catalogue, np.array([[1.0, np.nan]]))

    assert charges.tolist() == [[2 * UNIT, charged * UNIT]]


def test_the_waterfall_cut_short_pays_for_the_first_vendors_alone():
    ensemble, cases = make_doubtful(), draw_cases(30)

    spends = [cut_waterfall(ensemble, cases, n)[1].tolist() for n in range(3)]

    assert spends == [[0] * 30, [2 * UNIT] * 30, [5 * UNIT] * 30]
    whole, _ = cut_waterfall(ensemble, cases, 2)
    nothing, _ = cut_waterfall(ensemble, cases, 0)
    assert np.unique(nothing).size == 1
    assert np.unique(whole).size == 2


def test_the_saving_of_a_case_is_order_and_early_stop():
    ensemble, cases = make_doubtful(), draw_cases(100)
    # In half of the log f1 comes first: what we don't ask of it is passed over.
    orders = cases.orders.copy()
    orders[::2] = orders[::2, ::-1]
    cases = type(cases)(**(vars(cases) | {"orders": orders}))
    replayed = replay_cases(ensemble, AIM, cases, cases.values)

    early, order = split_saving(ensemble.catalogue, cases, replayed)

    logged = charge_logged(ensemble.catalogue, cases).sum(axis=1)
    assert (early + order == logged - replayed.spent).all()
    assert order[::2].any()
    assert early[1::2].any()
    assert not early[::2].any()
    assert not order[1::2].any()


def test_saving_is_not_said_of_unsupported_cases():
    ensemble, cases = make_doubtful(), draw_cases(60, asks=0.5)
    replayed = replay_cases(ensemble, AIM, cases, cases.values)

    early, order = split_saving(ensemble.catalogue, cases, replayed)

    assert not (early + order)[~replayed.is_supported].any()


def test_worse_is_where_the_waterfall_was_right_and_ours_is_wrong():
    ensemble, cases = make_doubtful(), draw_cases(200)
    replayed = replay_cases(ensemble, AIM, cases, cases.values)

    compared = compare_labels(COSTS, cases, replayed)

    ours, theirs, truth = replayed.labels, cases.decisions, cases.outcomes
    is_worse = (theirs == truth) & (ours != truth)
    is_better = (theirs != truth) & (ours == truth)
    assert compared["worse"].tolist() == is_worse.tolist()
    assert compared["better"].tolist() == is_better.tolist()
    assert compared["differs"].sum() == is_worse.sum() + is_better.sum()
    gap = compared["loss"].sum() - compared["loss_logged"].sum()
    assert gap == is_worse.sum() - is_better.sum()


@pytest.mark.parametrize("name", ["decisions", "outcomes"])
def test_a_case_without_decision_or_outcome_is_not_judged(name):
    ensemble, cases = make_doubtful(), forget(draw_cases(50, asks=0.5), name)
    replayed = replay_cases(ensemble, AIM, cases, cases.values)

    compared = compare_labels(COSTS, cases, replayed)

    assert not compared["judged"].any()
    assert not any(compared[f"loss{end}"].any() for end in ("", "_least", "_most"))
    assert compared["compared"].all() == (name == "outcomes")
    assert (cases.targets != UNKNOWN).all()
