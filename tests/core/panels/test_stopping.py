"""Rules that say when a case goes on to a dearer panel."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.catalogue.prices import MICROS_PER_UNIT as UNIT
from askless.core.model.ladder.blends import to_chances
from askless.core.model.ladder.panels import Panel
from askless.core.model.ladder.stopping import least_expected_costs
from askless.core.panels.rows import PanelRows
from askless.core.panels.stopping import (
    NO_WAY,
    JudgedPanels,
    Point,
    Steps,
    Walkers,
    compute_hull,
    fit_steps,
    fit_stopping,
    follow_rule,
    lay_ways,
    make_steps_to,
    mark_others,
    measure_fold_error,
    price_transitions,
)
from tests import naive_stopping as naive
from tests.sessions import BUNDLE, FEE, small_ensemble
from tests.small import table_of


def panels_of(*orders: tuple[int, ...]) -> list[Panel]:
    return [Panel(order, 0.5, frozenset()) for order in orders]


@st.composite
def judgements(draw) -> JudgedPanels:
    """Risks and losses of a few panels, with ties; ways to any that come before."""
    n_panels, n_rows = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = n_panels, n_rows
    prices = random.integers(0, 4, (n_panels, n_panels))
    prices = np.where(np.tri(n_panels, k=-1, dtype=np.bool_), prices, NO_WAY)
    prices[random.random(prices.shape) < 0.2] = NO_WAY
    weights = random.integers(1, 4, n_rows).astype(float)
    risks = random.integers(0, 6, shape) / 10
    losses = (random.random(shape) < risks).astype(float)
    return JudgedPanels(prices, risks, losses, weights / weights.sum())


def learn(judged: JudgedPanels, rate: float) -> Steps:
    return fit_steps(lay_ways(judged), rate)


def plain(judged: JudgedPanels):
    """The same as the twin has it."""
    ways = [
        {there: price for there, price in enumerate(row) if price != NO_WAY}
        for row in judged.prices.tolist()
    ]
    return ways, judged.risks.tolist(), judged.losses.tolist()


@given(judgements(), st.sampled_from([0.0, 0.01, 0.1, 1.0]))
def test_steps_are_those_of_the_naive_twin(judged, rate):
    ways, risks, losses = plain(judged)

    steps = learn(judged, rate)

    expected = naive.learn(ways, risks, losses, judged.weights.tolist(), rate)
    assert steps.targets.tolist() == [target for target, _ in expected]
    for here, (target, threshold) in enumerate(expected):
        if target != here:
            assert steps.thresholds[here] == pytest.approx(threshold)


def test_of_two_ways_that_gain_the_same_the_preferred_panel_is_taken():
    """The sums of their gains are rounded to 0.19999999999999998 and 0.2."""
    judged = JudgedPanels(
        prices=np.array([[-1, -1, -1], [-1, -1, -1], [2, 1, -1]]),
        risks=np.array([[0.3, 0.0, 0.2], [0.0, 0.2, 0.3], [0.4, 0.8, 0.5]]),
        losses=np.zeros((3, 3)),
        weights=np.full(3, 1 / 3),
    )

    assert learn(judged, 0.0).targets.tolist() == [0, 1, 0]


@given(judgements(), st.sampled_from([0.0, 0.02, 0.3]))
def test_no_panel_alone_costs_less_on_the_rows_that_steps_were_learned_on(judged, rate):
    def cost(steps: Steps) -> float:
        (ways, risks, losses), last = plain(judged), len(judged.risks) - 1
        pairs = list(zip(*(column.tolist() for column in steps), strict=True))
        costs = []
        for row in range(judged.weights.size):
            panel, spent = naive.end(last, row, pairs, ways, risks)
            costs.append(rate * spent + (losses[panel][row] + risks[panel][row]) / 2)
        return float(judged.weights @ costs)

    learned = cost(learn(judged, rate))

    alone = [
        cost(make_steps_to(judged.prices, number))
        for number in range(len(judged.risks))
    ]
    assert learned <= min(alone) + 1e-9


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_hull_has_the_points_that_no_mix_of_others_beats(pairs):
    steps = Steps(np.zeros(1, np.int64), np.zeros(1))

    hull = compute_hull([Point(float(a), float(b), steps) for a, b in pairs])

    kept = {(corner.spend, corner.error) for corner in hull}
    others = sorted(set(pairs))
    assert kept == {other for other in others if naive.is_on_hull(other, others)}


def test_way_costs_what_is_not_paid_yet():
    catalogue = small_ensemble([1, 2, 4], members={1: FEE, 2: FEE}).catalogue

    prices = price_transitions(catalogue, panels_of((0, 1, 2), (1,), (0,), ()))

    assert prices.tolist() == [
        [NO_WAY] * 4,
        [5, NO_WAY, NO_WAY, NO_WAY],
        [26, 22, NO_WAY, NO_WAY],
        [27, 22, 1, NO_WAY],
    ]


def test_there_is_no_way_to_a_panel_that_would_not_predict():
    catalogue = small_ensemble([1, 2, 4]).catalogue

    prices = price_transitions(catalogue, panels_of((0, 1), (1,), (0,), ()))

    # With 0 known, 1 makes the first panel complete.
    assert prices[2].tolist() == [2, NO_WAY, NO_WAY, NO_WAY]


def test_rest_of_a_bundle_costs_nothing():
    catalogue = small_ensemble([0, 0], members={0: BUNDLE, 1: BUNDLE}).catalogue

    prices = price_transitions(catalogue, panels_of((0, 1), (0,), ()))

    assert prices[1, 0] == 0
    assert prices[2, 0] == prices[2, 1] == 90


def easy_and_hard(n: int = 120):
    """Rows that a cheap feature tells for sure, and rows that only a dear one tells."""
    random = np.random.default_rng(0)
    targets = random.integers(0, 2, n)
    is_easy = np.arange(n) % 4 > 0
    catalogue = small_ensemble([UNIT, UNIT]).catalogue
    rows = PanelRows(table_of([np.zeros(n)] * 2, targets, catalogue), 0)
    signs = 2.0 * targets - 1.0
    logits = np.zeros((3, n, 1))
    logits[0, :, 0] = 4.0 * signs
    logits[1, :, 0] = np.where(is_easy, 4.0 * signs, 0.1 * random.normal(size=n))
    return rows, panels_of((0, 1), (0,), ()), logits


def test_easy_rows_lend_their_money_to_hard_ones():
    rows, panels, logits = easy_and_hard()

    stopping = fit_stopping(rows, panels, logits)

    best = stopping.rules[-1]
    assert best.error == 0
    # Of the hard rows some are right by luck at the cheap panel.
    assert 1.2 * UNIT < best.spend <= 1.25 * UNIT
    assert best.targets.tolist() == [0, 0, 1]
    # A hard row goes on, an easy one doesn't.
    assert least_expected_costs(np.array([0.5, 0.5]), None) > best.thresholds[1]
    assert 1 / (1 + math.exp(4)) < best.thresholds[1]
    assert best.prices.tolist() == [0, UNIT, UNIT]


def test_rules_are_judged_on_rows_that_they_were_not_learned_on():
    random = np.random.default_rng(1)
    shape = 3, 60
    prices = np.array([[NO_WAY] * 3, [UNIT, NO_WAY, NO_WAY], [UNIT, UNIT, NO_WAY]])
    risks = random.random(shape) / 2
    losses = (random.random(shape) < 0.3).astype(float)
    judged = JudgedPanels(prices, risks, losses, np.full(60, 1 / 60))
    folds = np.array_split(np.arange(60), 5)

    walkers = Walkers(
        small_ensemble([UNIT, UNIT]).catalogue,
        panels_of((0, 1), (0,), ()),
        np.zeros((60, 2), np.bool_),
        risks,
        losses,
    )

    parts = [
        measure_fold_error(
            judged, walkers, learn(judged.keep_rows(mark_others(fold, 60)), 1e-9), fold
        )
        for fold in folds
    ]

    found = np.zeros(60)
    for fold in folds:
        rest = np.isin(np.arange(60), fold, invert=True)
        steps = learn(judged.keep_rows(rest), 1e-9)
        found[fold] = follow_rule(walkers, *steps)[1][fold]
    assert sum(parts) == pytest.approx(found.mean())


def test_stated_spend_is_what_rows_spend_that_follow_the_rule():
    rows, panels, logits = easy_and_hard()

    stopping = fit_stopping(rows, panels, logits)

    chances = to_chances(logits)
    walkers = Walkers(
        rows.dataset.catalogue,
        panels,
        np.isnan(rows.dataset.values),
        least_expected_costs(chances, None),
        np.zeros(chances.shape[:2]),
    )
    for rule in stopping.rules:
        spends, _ = follow_rule(walkers, rule.targets, rule.thresholds)
        assert rule.spend == pytest.approx(spends.mean())


def test_missing_cells_are_not_charged_in_what_a_rule_spends():
    rows, panels, logits = easy_and_hard()
    values = rows.dataset.values.copy()
    values[::2, 1] = np.nan
    half = PanelRows(replace(rows.dataset, values=values), 0)

    whole, less = (fit_stopping(one, panels, logits) for one in (rows, half))

    assert whole.rules[-1].spend - less.rules[-1].spend > 0.05 * UNIT


def test_single_panels_are_kept_where_no_rule_is_better():
    random = np.random.default_rng(2)
    rows, panels, logits = easy_and_hard()
    # What the cheap feature says tells nothing of whether the dear one is needed.
    logits[1, :, 0] = random.permutation(logits[1, :, 0])

    stopping = fit_stopping(rows, panels, logits)

    last = stopping.rules[-1]
    assert last.thresholds.tolist() == [0.0, -1.0, -1.0]
    assert last.targets.tolist() == [0, 0, 0]


@pytest.mark.parametrize("is_free", [True, False])
def test_what_costs_nothing_is_always_bought(is_free):
    rows, panels, logits = easy_and_hard()
    if is_free:
        free = small_ensemble([0, 0]).catalogue
        rows = PanelRows(table_of([np.zeros(120)] * 2, rows.targets, free), 0)

    stopping = fit_stopping(rows, panels, logits)

    assert (len(stopping.rules) == 1) == is_free
    assert stopping.rules[-1].error == 0


def test_error_costs_decide_labels_and_what_a_stop_may_cost():
    rows, panels, logits = easy_and_hard()
    costs = ((0.0, 1.0), (20.0, 0.0))

    stopping = fit_stopping(rows, panels, logits, costs)

    # With nothing known it is cheaper to say the second class of all rows.
    share = float(np.mean(rows.targets == 0))
    assert stopping.errors[2] == pytest.approx(share)
    assert least_expected_costs(np.array([[0.9, 0.1]]), costs) == pytest.approx([0.9])


def test_several_classes_have_rules_too():
    n = 60
    targets = np.arange(n) % 3
    rows = PanelRows(table_of([np.zeros(n)], targets, n_classes=3), 0)
    logits = np.zeros((2, n, 3))
    logits[0, np.arange(n), targets] = 3.0

    stopping = fit_stopping(rows, panels_of((0,), ()), logits)

    assert [rule.error for rule in stopping.rules] == pytest.approx([2 / 3, 0.0])
