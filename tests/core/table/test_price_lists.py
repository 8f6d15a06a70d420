"""Price lists: what replaces the costs of a catalogue, and what is refused."""

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.catalogue.price_lists import PriceList, apply_prices
from askless.core.catalogue.prices import MAX_TOTAL, Paid, price_feature
from askless.core.errors import RefusedError

CLINIC = Catalogue(
    (
        Feature("age", cost=1),
        Feature("chol", cost=5, group="blood"),
        Feature("sex", cost=2),
        Feature("wall", cost=0, group="echo"),
    ),
    (Group("blood", fee=2, label="Blood"), Group("echo", price=90)),
    "CAD",
)
ALL = np.ones(4, np.bool_)
OTHER = {"age": 3, "chol": 4, "sex": 0}


def apply(costs, groups=(), is_used=ALL):
    return apply_prices(CLINIC, is_used, PriceList(costs, groups), "prices")


def refusals(costs, groups=()):
    with pytest.raises(RefusedError) as refused:
        apply(costs, groups)
    return [(refusal.field, refusal.rule) for refusal in refused.value.refusals]


def test_costs_and_groups_are_replaced_and_nothing_else():
    made = apply(OTHER, (Group("echo", price=7), Group("blood", fee=1)))

    assert made.costs.tolist() == [3, 4, 0, 0]
    assert made.fees.tolist() == [1, 7]
    assert (made.cost_unit, made.groups[0].label) == ("CAD", "Blood")


def test_billing_is_replaced_where_the_list_names_it():
    prices = PriceList(
        OTHER, (), {"chol": "per_answer"}, {"blood": "per_call", "echo": "per_call"}
    )
    of_members = PriceList(OTHER, (), {}, {"blood": "per_call"})

    made = apply_prices(CLINIC, ALL, prices, "prices")

    assert made.is_per_call.tolist() == [False, False, False, True]
    assert {group.billing for group in made.groups} == {"per_call"}
    blood = apply_prices(CLINIC, ALL, of_members, "prices")
    assert blood.is_per_call.tolist() == [False, True, False, False]
    # What a list leaves out stays.
    again = apply_prices(blood, ALL, PriceList(OTHER), "prices")
    assert again.is_per_call.tolist() == [False, True, False, False]


def test_a_feature_alone_pays_its_cost_and_not_the_fee_of_its_group():
    made = apply_prices(CLINIC, ALL, PriceList(OTHER, alone=["chol"]), "prices")

    assert price_feature(made, Paid(), 1) == 4
    assert price_feature(apply(OTHER), Paid(), 1) == 6
    # The fee is due for the others all the same.
    assert made.groups == CLINIC.groups


def test_billing_of_no_feature_and_of_a_member_is_refused():
    prices = PriceList(OTHER, (), {"agee": "per_call", "wall": "per_call"})

    with pytest.raises(RefusedError) as refused:
        apply_prices(CLINIC, ALL, prices, "prices")

    assert [refusal.field for refusal in refused.value.refusals] == [
        "prices.billing.agee",
        "prices.billing.wall",
    ]


def test_what_a_list_leaves_out_keeps_its_cost():
    is_used = np.array([True, True, False, True])

    made = apply({"age": 3, "chol": 4, "wall": 0}, is_used=is_used)

    assert made.costs.tolist() == [3, 4, 2, 0]
    assert made.fees.tolist() == [2, 90]


def test_feature_that_is_read_must_have_a_cost():
    rule = "is required: the model reads this feature"

    found = refusals({"age": 3})

    assert found == [("prices.costs.chol", rule), ("prices.costs.sex", rule)]


@pytest.mark.parametrize(
    ("costs", "groups", "field", "rule"),
    [
        ({"bmi": 1}, (), "prices.costs.bmi", "must name a feature"),
        ({"wall": 1}, (), "prices.costs.wall", "a member of a bundle has no cost"),
        ({}, (Group("ecg", fee=1),), "prices.groups[0].name", "must name a group"),
        ({}, (Group("blood"), Group("blood")), "prices.groups[1].name", "unique"),
        ({}, (Group("blood", price=1),), "prices.groups[0]", "must have a fee: "),
        ({}, (Group("echo", fee=1),), "prices.groups[0]", "must have a price: "),
        ({"age": MAX_TOTAL}, (), "prices", "must add up to at most"),
    ],
)
def test_list_that_does_not_fit_is_refused_by_name(costs, groups, field, rule):
    [(found_field, found_rule)] = refusals(OTHER | costs, groups)

    assert found_field == field
    assert rule in found_rule
