import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Memory
from askless.core.training.rules import (
    MAX_EDGE,
    RULES,
    View,
    adaboost,
    greedy,
    hybrid,
    log_gains,
    smoothed,
    speedboost,
)
from tests.rounds import run as run_rounds
from tests.small import table_of

UNIT = 1_000_000


def view_of(edges, costs, presents=None, **others):
    n = len(edges)
    return View(
        edges=np.array(edges),
        presents=np.ones(n) if presents is None else np.array(presents),
        costs=np.array(costs, dtype=np.float64),
        is_paid=np.array(others.pop("is_paid", [False] * n)),
        spent=others.pop("spent", 0),
        **others,
    )


def scores_of(rule, view):
    return rule(view)[0].tolist()


def test_adaboost_scores_by_the_edge():
    assert scores_of(adaboost, view_of([0.6, 0.8], [1, 9])) == [0.6, 0.8]


def test_greedy_divides_the_log_gain_by_the_cost():
    scores = scores_of(greedy, view_of([0.6, 0.8], [2, 4]))

    assert scores == pytest.approx([0.2231435513, 0.2554128119])


def test_greedy_orders_as_equation_1():
    edges, costs = [0.3, 0.5, 0.6], [1.0, 2.0, 7.0]

    scores = scores_of(greedy, view_of(edges, costs))

    terms = [(1 - g**2) ** (1 / c) for g, c in zip(edges, costs, strict=True)]
    assert [-math.log(term) for term in terms] == pytest.approx(scores)


def test_smoothed_adds_tau_times_what_was_spent_to_the_cost():
    view = view_of([0.6, 0.8], [2, 4], spent=4, tau=0.5)

    assert scores_of(smoothed, view) == pytest.approx([0.1115717757, 0.1702752079])


def test_smoothed_without_tau_is_greedy():
    view = view_of([0.6, 0.8], [2, 4], spent=4, tau=0.0)

    assert scores_of(smoothed, view) == scores_of(greedy, view)


def test_speedboost_divides_the_loss_saved_by_the_cost():
    # W+ = 0.64 and W- = 0.16 save 0.8 - 2 * 0.32; W+ = 0.8, W- = 0.2 save 0.2.
    view = view_of([0.48, 0.6], [2, 1], presents=[0.8, 1.0])

    assert scores_of(speedboost, view) == pytest.approx([0.08, 0.2])


def test_speedboost_keeps_its_digits_for_a_small_edge():
    assert scores_of(speedboost, view_of([1e-9], [1])) == pytest.approx([5e-19])


def test_speedboost_takes_an_edge_above_the_weight_present_as_perfect():
    view = view_of([0.5 + 1e-16, 0.0], [1, 1], presents=[0.5, 0.0])

    # The edge is clipped, which leaves a square root of the clip to the loss.
    assert scores_of(speedboost, view) == pytest.approx([0.5, 0.0], abs=1e-4)


def test_log_gain_of_a_perfect_edge_is_clipped():
    expected = -math.log(1 - MAX_EDGE**2)

    assert log_gains(np.array([1.0])).tolist() == pytest.approx([expected])


def test_hybrid_remembers_the_quality_of_its_first_round():
    scores, memory = hybrid(view_of([0.6, 0.8], [2, 4]))

    assert scores.tolist() == pytest.approx([0.2231435513, 0.2554128119])
    assert memory == Memory(pytest.approx(0.2554128119), False)


@pytest.mark.parametrize(
    ("is_paid", "memory", "is_smoothing"),
    [
        # Greedy while the unpaid are good enough, and smoothed once they are poor.
        ([False, True], Memory(2.2, False), False),
        ([False, True], Memory(2.3, False), True),
        # For good; and once everything is paid.
        ([False, True], Memory(1e-6, True), True),
        ([True, True], Memory(1.0, False), True),
    ],
)
def test_hybrid_smooths_once_the_unpaid_are_poor(is_paid, memory, is_smoothing):
    view = view_of([0.6, 0.8], [2, 4], is_paid=is_paid, spent=4, memory=memory)

    scores, after = hybrid(view)

    rule = smoothed if is_smoothing else greedy
    assert scores.tolist() == scores_of(rule, view)
    assert after == Memory(memory.first_quality, is_smoothing)


# The conformance suite: what every entry of RULES owes, and what it declares.

SHOP = Catalogue(
    (
        Feature("weak", cost=0),
        Feature("strong", cost=3 * UNIT),
        Feature("dear", cost=8 * UNIT, group="g"),
        Feature("other", cost=1 * UNIT, group="g"),
        Feature("bundled", cost=0, group="b"),
    ),
    (Group("g", fee=2 * UNIT), Group("b", price=5 * UNIT)),
)


def mixed_table(catalogue=SHOP, has_missing=True):
    """Forty rows; the features help ever more, but for the last; no near-ties."""
    generator = np.random.default_rng(5)
    targets = np.arange(40) % 2
    noise = generator.normal(size=(40, 5))
    values = noise + (2.0 * targets - 1.0)[:, None] * [0.2, 1.0, 1.2, 0.5, 0.4]
    if has_missing:
        values[generator.random((40, 5)) < 0.15] = np.nan
    weights = generator.random(40) + 0.5
    columns = values.T[: len(catalogue.features)]
    return table_of(columns, targets, catalogue, weights=weights / weights.sum())


def with_costs(catalogue, change):
    features = tuple(replace(f, cost=change(f.cost)) for f in catalogue.features)
    groups = tuple(
        replace(
            g, fee=change(g.fee), price=None if g.price is None else change(g.price)
        )
        for g in catalogue.groups
    )
    return Catalogue(features, groups)


def run(rule, dataset, done=(), **params):
    chosen = BoostParams(rule, **{"rounds": 12, **params})
    return [*done, *run_rounds(dataset, chosen, done)]


def stumps_of(rounds):
    return [added.hypothesis for added in rounds]


def error_of(rounds, dataset):
    votes = np.zeros(dataset.n_samples)
    for added in rounds:
        values = dataset.values[:, added.hypothesis.feature_idx]
        ballots = np.where(values > added.hypothesis.cut, 1.0, -1.0)
        votes += added.alpha * added.hypothesis.votes[0] * ballots
    return float(dataset.weights @ (np.sign(votes) != dataset.signs))


every_rule = pytest.mark.parametrize("rule", RULES)


@every_rule
def test_rule_learns_a_majority_that_no_stump_can(rule):
    values = np.array(list(product([0.0, 1.0], repeat=3)))
    targets = (values.sum(axis=1) > 1).astype(np.int64)
    toy = table_of(values.T, targets, types=["boolean"] * 3)

    assert error_of(run(rule, toy), toy) == 0.0


@pytest.mark.slow
@every_rule
def test_order_of_rows_changes_nothing(rule):
    dataset = mixed_table()
    order = np.random.default_rng(1).permutation(dataset.n_samples)

    shuffled = run(rule, dataset.take(order))

    expected = run(rule, dataset)
    assert stumps_of(shuffled) == stumps_of(expected)
    assert [a.alpha for a in shuffled] == pytest.approx([a.alpha for a in expected])


@pytest.mark.slow
@every_rule
def test_costs_in_another_unit_change_nothing(rule):
    dataset = mixed_table()
    dearer = replace(dataset, catalogue=with_costs(SHOP, lambda cost: 7 * cost))

    rounds, scaled = run(rule, dataset), run(rule, dearer)

    assert stumps_of(scaled) == stumps_of(rounds)
    assert [a.spent for a in scaled] == [7 * a.spent for a in rounds]


@pytest.mark.slow
@every_rule
def test_strong_dear_feature_is_bought_although_a_weak_one_is_free(rule):
    rounds = run(rule, mixed_table(), rounds=400)

    assert {1, 2} <= {stump.feature_idx for stump in stumps_of(rounds)}


@pytest.mark.slow
@every_rule
def test_without_any_cost_a_rule_is_adaboost(rule):
    dataset = mixed_table()
    free = replace(dataset, catalogue=with_costs(SHOP, lambda _: 0))

    assert run(rule, free) == run("adaboost", free)


@pytest.mark.slow
@every_rule
def test_costs_decide_exactly_where_the_rule_declares_it(rule):
    dataset = mixed_table()
    level = replace(dataset, catalogue=with_costs(SHOP, lambda _: UNIT))

    is_same = stumps_of(run(rule, level)) == stumps_of(run(rule, dataset))

    assert is_same != RULES[rule].follows_costs


@every_rule
def test_purchases_decide_exactly_where_the_rule_declares_it(rule):
    fresh = view_of([0.6, 0.8], [2, 4])
    late = replace(fresh, spent=9, is_paid=~fresh.is_paid, memory=Memory(1.0, True))

    is_same = scores_of(RULES[rule].score, fresh) == scores_of(RULES[rule].score, late)

    assert is_same == RULES[rule].ignores_spent


@every_rule
def test_weight_present_decides_alpha_exactly_where_the_rule_declares_it(rule):
    dataset = mixed_table()

    first = run(rule, dataset, rounds=1)[0]

    is_present = ~np.isnan(dataset.values[:, first.hypothesis.feature_idx])
    stand = dataset.weights[is_present].sum() if RULES[rule].uses_presents else 1.0
    expected = 0.5 * math.log((stand + first.edge) / (stand - first.edge))
    assert first.alpha == pytest.approx(expected)


@every_rule
def test_cost_floor_stands_for_a_zero_cost(rule):
    dataset = mixed_table()
    floor = 40 * UNIT
    features = (replace(SHOP.features[0], cost=floor), *SHOP.features[1:])
    priced = replace(dataset, catalogue=Catalogue(features, SHOP.groups))

    floored = run(rule, dataset, rounds=1, cost_floor=floor)

    assert stumps_of(floored) == stumps_of(run(rule, priced, rounds=1))


@every_rule
def test_cost_floor_never_enters_the_accounts(rule):
    free = replace(mixed_table(), catalogue=with_costs(SHOP, lambda _: 0))

    assert run(rule, free, cost_floor=5)[-1].spent == 0


@every_rule
def test_rule_names_a_policy(rule):
    assert RULES[rule].policy == ("sample" if rule == "adaboost_rs" else "ordered")
