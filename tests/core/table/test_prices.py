from collections.abc import Sequence
from decimal import Decimal
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.catalogue.prices import (
    MAX_UNITS,
    Paid,
    add_paid,
    bound_purchases,
    buy,
    from_micros,
    hypothesis_costs,
    price_feature,
    smallest_cost,
    to_micros,
    total_cost,
)
from tests import naive
from tests.strategies import catalogues
from tests.twins import shop_of

BLOOD = Catalogue(
    (
        Feature("age", cost=1_000_000),
        Feature("chol", cost=5_170_000, group="blood"),
        Feature("fbs", cost=3_100_000, group="blood"),
        Feature("lvef", cost=0, group="echo"),
        Feature("wall", cost=0, group="echo"),
        Feature("sex", cost=0),
    ),
    (Group("blood", fee=2_100_000), Group("echo", price=90_000_000)),
)


@pytest.mark.parametrize(
    "amount",
    [
        *(True, False, None, [], b"1", 1j, np.int64(1)),
        *(float("nan"), float("inf"), -float("inf"), -1, -0.000001, 1e-7),
        *("", "abc", "1,5", "nan", "sNaN", "Infinity", "-1", "0.0000001", "1e99999999"),
        *(Decimal("NaN"), Decimal("1.0000001"), Decimal("-0.1")),
        *(MAX_UNITS + 1, float(MAX_UNITS) * 2, "1000000000.000001"),
    ],
)
def test_amount_that_is_no_money_is_refused(amount):
    with pytest.raises(ValueError, match="must be an amount such as"):
        to_micros(amount)


@pytest.mark.parametrize(
    ("amount", "micros"),
    [
        (0, 0),
        (2.1, 2_100_000),
        (0.1, 100_000),
        (1e-6, 1),
        ("0.000001", 1),
        ("7.27", 7_270_000),
        ("1e9", 10**15),
        ("7.2E-1", 720_000),
        (Decimal("2.100000000"), 2_100_000),
        (MAX_UNITS, 10**15),
        (999_999_999.999999, 10**15 - 1),
    ],
)
def test_amount_becomes_exact_micros(amount, micros):
    assert to_micros(amount) == micros


@pytest.mark.parametrize("tail", ["1", "0" * 30 + "1"])
def test_excess_decimals_are_refused_however_far_behind(tail):
    with pytest.raises(ValueError, match="at most 6 decimals"):
        to_micros("1.000000" + tail)


@given(st.integers(0, MAX_UNITS * 10**6))
def test_micros_survive_the_way_through_a_float(micros):
    assert to_micros(from_micros(micros)) == micros


def test_first_member_of_a_group_pays_the_fee_and_the_next_its_cost():
    first = price_feature(BLOOD, Paid(), 1)
    second = price_feature(BLOOD, add_paid(BLOOD, Paid(), [1]), 2)

    assert (first, second) == (7_270_000, 3_100_000)


def test_first_member_of_a_bundle_pays_its_price_and_the_others_nothing():
    first = price_feature(BLOOD, Paid(), 4)
    second = price_feature(BLOOD, add_paid(BLOOD, Paid(), [4]), 3)

    assert (first, second) == (90_000_000, 0)


def test_paid_feature_costs_nothing():
    assert price_feature(BLOOD, add_paid(BLOOD, Paid(), [0, 1]), 1) == 0


def test_feature_without_group_pays_no_fee():
    assert price_feature(BLOOD, Paid(), 0) == 1_000_000


def test_paying_marks_features_and_their_groups():
    paid = add_paid(BLOOD, add_paid(BLOOD, Paid(), [0]), [2, 5])

    assert paid == Paid(frozenset({0, 2, 5}), frozenset({0}))


@given(catalogues(), st.data())
def test_price_equals_the_naive_price(catalogue, data):
    idxs = st.sampled_from(range(len(catalogue.features)))
    paid, wanted = data.draw(st.sets(idxs)), data.draw(idxs)

    actual = price_feature(catalogue, add_paid(catalogue, Paid(), paid), wanted)

    assert actual == naive.price(shop_of(catalogue), paid, wanted)


@given(catalogues(), st.permutations(range(6)))
def test_everything_costs_the_total_in_any_order(catalogue, order):
    paid, spent = Paid(), 0
    for idx in [idx for idx in order if idx < len(catalogue.features)]:
        spent += price_feature(catalogue, paid, idx)
        paid = add_paid(catalogue, paid, [idx])

    assert spent == total_cost(catalogue)


@given(catalogues(max_features=5), st.sets(st.integers(0, 4)), st.data())
def test_purchases_are_never_more_than_their_bounds(catalogue, before, data):
    idxs = range(len(catalogue.features))
    paid = add_paid(catalogue, Paid(), before.intersection(idxs))
    limit = data.draw(st.integers(0, total_cost(catalogue)))
    choices = chain(*(combinations(idxs, size) for size in range(len(idxs) + 1)))
    priced = [(choice, buy(catalogue, paid, choice)[0]) for choice in choices]
    within = [(choice, spend) for choice, spend in priced if spend <= limit]

    number, spend = bound_purchases(catalogue, paid, idxs, limit)

    assert spend <= limit
    assert all(amount <= spend for _, amount in within)
    assert all(
        count_purchases(catalogue, paid, choice) <= number for choice, _ in within
    )


def count_purchases(catalogue: Catalogue, paid: Paid, choice: Sequence[int]) -> int:
    """Count the features of a choice, those of a bundle to be paid as one."""
    groups = [int(catalogue.group_idxs[idx]) for idx in choice]
    is_one = [
        catalogue.is_bundled[idx] and group not in paid.group_idxs
        for idx, group in zip(choice, groups, strict=True)
    ]
    bundles = {group for group, joins in zip(groups, is_one, strict=True) if joins}
    return is_one.count(False) + len(bundles)


def test_one_purchase_comes_to_its_price_whatever_is_left():
    features = tuple(Feature(f"f{price}", cost=price) for price in (2_000_000,) * 3)

    assert bound_purchases(Catalogue(features), Paid(), range(3), 3_000_000) == (
        1,
        2_000_000,
    )


def test_rule_costs_add_the_due_fee_and_floor_zeros():
    costs = hypothesis_costs(BLOOD, np.array([False, False]))

    assert costs.tolist() == [1e6, 7_270_000, 5_200_000, 9e7, 9e7, 1e6]


def test_rule_costs_drop_a_paid_fee_but_never_the_price_of_a_bundle():
    costs = hypothesis_costs(BLOOD, np.array([True, True]), cost_floor=10)

    assert costs.tolist() == [1e6, 5_170_000, 3_100_000, 9e7, 9e7, 10]


def test_rule_costs_of_a_catalogue_without_costs_are_zero():
    free = Catalogue((Feature("a", cost=0), Feature("b", cost=0)))

    assert hypothesis_costs(free, np.zeros(0, np.bool_)).tolist() == [0.0, 0.0]
    assert smallest_cost(free) == 0


def test_bound_of_many_fees_exceeds_64_bits():
    features = tuple(Feature(f"f{idx}", cost=0, group="g") for idx in range(9_300))
    catalogue = Catalogue(features, (Group("g", fee=10**15),))

    bound = bound_purchases(catalogue, Paid(), range(9_300), 2**63 - 1)

    assert bound == (9_300, 10**15)
