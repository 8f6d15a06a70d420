"""The rungs of ladders: which budgets get a set of their own."""

from itertools import pairwise

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.panels.effort import EFFORTS
from askless.core.panels.purchases import Shop
from askless.core.panels.rows import PanelRows
from askless.core.panels.rungs import (
    APART,
    STEPS,
    choose_rungs,
    drop_close_budgets,
    list_offer_prices,
)
from askless.core.panels.search import SetSearch
from tests.small import make_dataset


def search_of(costs, groups=(), members=(), named=(), effort="standard") -> SetSearch:
    """Useful features at these costs; `members` are the groups of some of them."""
    names = dict(members)
    features = tuple(
        Feature(f"f{idx}", cost=cost, group=names.get(idx))
        for idx, cost in enumerate(costs)
    )
    values = np.random.default_rng(0).integers(0, 2, (20, len(costs))).astype(float)
    # A constant feature would be no offer.
    values[:2] = [[0.0], [1.0]]
    catalogue = Catalogue(features, groups)
    rows = PanelRows(make_dataset(values, np.arange(20) % 2, 2, catalogue=catalogue), 0)
    shop = Shop(catalogue, rows.is_useful)
    return SetSearch(rows, shop, EFFORTS[effort], frozenset(named))


def rungs_of(*options, **named) -> list[int]:
    return choose_rungs(search_of(*options, **named))


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("named", [[77], [333, 101, 3_999], [9_999, 10_001, 10_077]])
def test_named_budgets_always_stay(named, effort):
    budgets = rungs_of([10] * 60 + [10_000], named=named, effort=effort)

    assert set(named) <= set(budgets)
    assert budgets == sorted(set(budgets))


def test_nothing_is_a_rung_for_budgets_that_were_not_named():
    assert 77 not in rungs_of([10] * 60 + [10_000])


def test_named_budgets_take_the_place_of_others():
    costs = np.random.default_rng(0).integers(1, 10**6, 40).tolist()
    most, named = EFFORTS["standard"].max_rungs, [10**6, 2 * 10**6, 3 * 10**6]

    before, after = rungs_of(costs), rungs_of(costs, named=named)

    # Prices of offers come on top.
    assert max(len(before), len(after)) <= most + most // 3


def test_many_named_budgets_leave_a_third_to_others():
    named = range(1_000, 60_000, 2_000)
    most = EFFORTS["standard"].max_rungs

    budgets = rungs_of([1_000] * 60, named=named)

    assert len(budgets) - len(named) in range(1, -(-most // 3) + 1)


def test_usual_rungs_give_way_to_a_named_budget_nearby():
    near, far = rungs_of([10] * 12, named=[61]), rungs_of([10] * 12, named=[66])

    assert 61 in near
    assert 60 not in near
    assert {60, 66} <= set(far)


@pytest.mark.parametrize("named", [9, 1])
def test_named_budget_that_pays_nothing_has_no_rung(named):
    assert rungs_of([10] * 12, named=[named]) == rungs_of([10] * 12)


def test_named_budget_above_the_price_of_everything_is_that_price():
    assert rungs_of([10] * 12, named=[5_000]) == rungs_of([10] * 12)


def test_each_price_of_an_offer_has_a_rung():
    budgets = rungs_of([10, 10, 10, 10, 14, 27, 33])

    assert {10, 14, 27, 33} <= set(budgets)
    assert 15 not in budgets


def test_fee_has_a_rung_with_its_cheapest_member_alone():
    groups, members = (Group("g", fee=100),), {4: "g", 5: "g"}

    search = search_of([10, 10, 10, 10, 7, 48], groups, members)

    assert list_offer_prices(search.shop) == [10, 107]
    assert 107 in choose_rungs(search)


def test_prices_of_offers_come_beside_the_multiples():
    costs = [1_000 + 60 * idx for idx in range(41)]
    usual, most = 1_000 + 60 * 20, EFFORTS["thorough"].max_rungs

    budgets = rungs_of(costs, effort="thorough")

    assert {usual * step for step in STEPS if usual * step >= costs[0]} <= {*budgets}
    assert 3 <= sum(budget in costs for budget in budgets) <= most // 3 + 1


@pytest.mark.parametrize(("other", "kept"), [(103, [100]), (106, [100, 106])])
def test_budgets_within_a_twentieth_are_one(other, kept):
    assert APART == 1.05
    assert drop_close_budgets([other, 100]) == kept


def test_budgets_are_steps_of_the_usual_price_up_to_that_of_everything():
    budgets = rungs_of([10] * 12)

    assert budgets == [10 * step for step in STEPS if 1 <= step <= 12]


def test_budgets_are_apart_by_a_twentieth_and_so_many_at_most():
    costs = np.random.default_rng(0).integers(1, 10**6, 40).tolist()

    budgets = rungs_of(costs)

    assert len(budgets) <= 4 * EFFORTS["standard"].max_rungs // 3
    assert all(after > 1.05 * before for before, after in pairwise(budgets))
    assert min(costs) <= budgets[0]
    assert budgets[-1] <= sum(costs)


@pytest.mark.parametrize("n_cheap", [2, 9, 200])
def test_some_budget_pays_a_dear_feature_and_some_cheap_ones(n_cheap):
    budgets = rungs_of([10] * n_cheap + [10_000])

    most = 10_000 + min(4, n_cheap) * 10
    assert budgets[-1] >= 10_000
    assert budgets[0] == 10
    assert any(10_000 <= budget <= most for budget in budgets)


def test_dear_features_leave_room_for_steps():
    dears = [10_000 * 2**idx for idx in range(20)]

    budgets = rungs_of([10] * 60 + dears)

    assert len(budgets) == EFFORTS["standard"].max_rungs
    assert budgets[:5] == [10, 20, 30, 40, 60]
    assert budgets[-1] >= dears[-1]


def test_budget_of_free_features_is_0():
    assert rungs_of([0, 0]) == [0]


def test_bundle_is_an_offer_at_its_price():
    groups, members = (Group("b", price=70),), {0: "b", 1: "b"}

    assert rungs_of([0, 0], groups, members) == [70]


@pytest.mark.parametrize("effort", EFFORTS)
def test_last_budget_pays_everything_whatever_the_effort(effort):
    budgets = rungs_of([10] * 400 + [10_000], effort=effort)

    assert len(budgets) == EFFORTS[effort].max_rungs
    assert budgets[-1] == 14_000
    assert budgets == sorted(set(budgets))
