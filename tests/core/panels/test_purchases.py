"""What can be bought together, and what sets of it cost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.catalogue.prices import Paid
from askless.core.panels.purchases import Shop
from tests import naive_panels as naive
from tests import strategies


def shop_of(catalogue: Catalogue, useless: tuple[int, ...] = ()) -> Shop:
    is_useful = np.ones(len(catalogue.features), np.bool_)
    is_useful[list(useless)] = False
    return Shop(catalogue, is_useful)


def fee_catalogue(fee: int, *costs: int, others: tuple[int, ...] = ()) -> Catalogue:
    """Members of a group with a fee, then features of no group."""
    members = [
        Feature(f"m{idx}", cost=cost, group="g") for idx, cost in enumerate(costs)
    ]
    alone = [Feature(f"a{idx}", cost=cost) for idx, cost in enumerate(others)]
    return Catalogue((*members, *alone), (Group("g", fee=fee),))


BUNDLE = Catalogue(
    (
        Feature("x", cost=2),
        Feature("b0", cost=0, group="b"),
        Feature("b1", cost=0, group="b"),
    ),
    (Group("b", price=5),),
)


@st.composite
def orders(draw):
    """A shop, an order of its features, and a budget."""
    catalogue = draw(strategies.catalogues())
    n_features = len(catalogue.features)
    useless = draw(st.sets(st.integers(0, n_features - 1), max_size=2))
    order = draw(st.permutations(range(n_features)))
    return shop_of(catalogue, tuple(useless)), order, draw(strategies.amounts())


def naive_price(shop: Shop, idxs) -> int:
    features = [(feature.cost, feature.group) for feature in shop.catalogue.features]
    groups = {
        group.name: group.fee if group.price is None else group.price
        for group in shop.catalogue.groups
    }
    return naive.price(features, groups, set(), idxs)


@given(orders())
def test_what_is_bought_never_costs_more_than_the_budget(case):
    shop, order, budget = case

    taken = shop.fill_budget(order, budget)

    assert naive_price(shop, taken) <= budget
    assert shop.price(taken) == naive_price(shop, taken)


@given(orders())
def test_what_is_bought_is_useful_and_whole_offers(case):
    shop, order, budget = case

    taken = set(shop.fill_budget(order, budget))

    whole = [set(offer) for offer in shop.offers if taken & set(offer)]
    assert taken == set().union(*whole)
    assert all(shop.is_useful[idx] for idx in taken)


@given(orders())
def test_nothing_that_is_left_would_have_fitted(case):
    shop, order, budget = case

    taken = shop.fill_budget(order, budget)

    left = [offer for offer in shop.offers if offer[0] not in taken]
    assert all(naive_price(shop, {*taken, *one}) > budget for one in left)


def test_what_does_not_fit_is_skipped_and_the_next_is_bought():
    shop = shop_of(Catalogue(tuple(Feature(f"f{c}", cost=c) for c in (3, 9, 2, 4))))

    assert shop.fill_budget([1, 0, 2, 3], 7) == (0, 2)
    assert shop.fill_budget([1, 3, 0], 7) == (3, 0)


def test_bundle_is_one_offer_and_its_price_falls_due_once():
    shop = shop_of(BUNDLE)

    assert shop.offers == ((0,), (1, 2))
    assert shop.fill_budget([2, 0], 7) == (1, 2, 0)
    assert shop.fill_budget([2, 0], 6) == (1, 2)
    assert shop.fill_budget([2, 0], 4) == (0,)


def test_member_of_a_bundle_that_says_nothing_is_not_offered():
    shop = shop_of(BUNDLE, useless=(1,))

    assert shop.offers == ((0,), (2,))
    assert shop.offer_of == {0: 0, 2: 1}


def test_fee_falls_due_once():
    shop = shop_of(fee_catalogue(10, 1, 2))

    assert shop.fill_budget([0, 1], 13) == (0, 1)
    assert shop.fill_budget([0, 1], 12) == (0,)
    assert shop.price([1], Paid(group_idxs=frozenset({0}))) == 2


def start(shop: Shop, gains, paid=None) -> list[tuple[int, ...]]:
    costs = shop.catalogue.costs.astype(float)
    return shop.list_starters(paid or Paid(), np.array(gains, float), costs)


def test_group_is_opened_with_the_members_that_gain_most_per_price():
    shop = shop_of(fee_catalogue(10, 1, 1, 1, others=(1,)))

    opened = start(shop, [3.0, 5.0, 0.1, 9.0])

    assert opened == [(0,), (1,), (2,), (3,), (1, 0)]


@pytest.mark.parametrize(
    ("fee", "gains"),
    [(0, [5.0, 3.0]), (10, [5.0, 0.0])],
    ids=["no fee", "one gains all"],
)
def test_group_is_not_opened_where_one_member_does_as_well(fee, gains):
    shop = shop_of(fee_catalogue(fee, 1, 1))

    assert start(shop, gains) == [(0,), (1,)]


def test_group_that_is_paid_or_has_one_member_left_is_not_opened():
    shop = shop_of(fee_catalogue(10, 1, 1, 1), useless=(2,))
    paid = Paid(frozenset({0}), frozenset({0}))

    assert start(shop, [5.0, 5.0, 5.0], paid) == [(1,)]
    assert start(shop_of(fee_catalogue(10, 1)), [5.0]) == [(0,)]


def test_bundle_that_is_bought_is_not_offered_again():
    paid = Paid(frozenset({1, 2}), frozenset({0}))

    assert start(shop_of(BUNDLE), [1.0, 1.0, 1.0], paid) == [(0,)]
