"""A spec is stored in JSON's own numbers, and asks for the same as it was ordered."""

import json
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from askless.app.documents.spec.spec import read_spec
from askless.app.documents.text import parse_spec
from askless.app.service.jobs import trainings
from askless.core.errors import RefusedError

AMOUNTS = st.decimals(0, Decimal("999999999.999999"), places=6)


@given(AMOUNTS, AMOUNTS, AMOUNTS, st.sampled_from(["1", "1.0", "1.50", '"1.50"']))
@example(*map(Decimal, ("0.000001", "999999999.999999", "0.1")), "1.0")
def test_stored_spec_asks_for_what_was_ordered(cost, fee, budget, label):
    raw = parse_spec(
        f"""{{"target": "y", "positive": {label}, "missing": [{label}, "n.d."],
        "features": [{{"name": "a", "cost": {cost:f}, "missing": [{budget:f}]}},
                     {{"name": "b", "cost": {cost:f}, "group": "g"}},
                     {{"name": "c", "group": "h"}}],
        "groups": [{{"name": "g", "fee": {fee:f}}}, {{"name": "h", "price": 2.100001}}],
        "validation": {{"folds": 3, "budgets": [{budget:f}]}},
        "certificate": {{"share": 0.1, "budgets": [{budget:f}]}},
        "params": {{"tau": 0.1, "rounds": 3}}, "algorithm": "adaboost_bt_smoothed",
        "error_costs": {{"0": {{"1": {fee:f}}}, "1": {{"0": 2.5}}}}}}"""
    )

    stored = json.loads(json.dumps(trainings.plain_spec(raw)))

    assert read_spec(stored) == read_spec(raw)


BILLED = {
    "target": "y",
    "features": [
        {"name": "a", "billing": "per_call"},
        {"name": "b", "group": "echo"},
        {"name": "c", "group": "draw"},
        {"name": "d", "group": "draw", "billing": "per_answer"},
    ],
    "groups": [
        {"name": "echo", "price": 9, "billing": "per_call"},
        {"name": "draw", "fee": 1, "billing": "per_call"},
    ],
}


def test_members_are_billed_as_their_group_unless_they_say_otherwise() -> None:
    table = read_spec(BILLED).table

    assert table.features is not None
    assert [feature.billing for feature in table.features] == [
        *("per_call", "per_call", "per_call", "per_answer")
    ]
    assert [group.billing for group in table.groups] == ["per_call", "per_call"]


def test_a_member_of_a_bundle_has_no_billing_of_its_own() -> None:
    member = {"name": "b", "group": "echo", "billing": "per_answer"}

    with pytest.raises(RefusedError) as refused:
        read_spec(BILLED | {"features": [*BILLED["features"][2:], member]})

    assert [str(refusal) for refusal in refused.value.refusals] == [
        "features[2].billing: a member of a bundle has the billing of the bundle"
    ]


def test_spec_is_stored_in_plain_numbers() -> None:
    raw = parse_spec("""{"positive": 1, "params": {"rounds": 5, "tau": 0.1},
                         "costs": {"age": 999999999.999999}, "validation": null}""")

    stored = trainings.plain_spec(raw)

    assert stored["costs"] == {"age": 999999999.999999}
    assert stored["params"] == {"rounds": 5, "tau": 0.1}


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        ({"type": "number"}, "only a category has labels"),
        ({"category_labels": {"1": ""}}, "must have 1 to 200 characters"),
        ({"category_labels": {"1": "x", "2": "X"}}, "must not be the name or"),
    ],
)
def test_labels_that_do_not_fit_are_refused_at_their_field(field, rule):
    feature = {"name": "a", "category_labels": {"1": "Yes"}, **field}

    with pytest.raises(RefusedError, match=rule) as caught:
        read_spec({"target": "y", "features": [feature]})

    assert "features[0].category_labels" in str(caught.value)


def test_feature_with_labels_is_a_category_unless_its_type_is_said():
    features = [{"name": "a", "category_labels": {"1": "Yes"}}, {"name": "b"}]
    table = read_spec({"target": "y", "features": features}).table

    assert [feature.type for feature in table.features] == ["category", "number"]
    assert table.untyped == {"b"}
