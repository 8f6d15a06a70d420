from decimal import Decimal

import pytest

from askless.app.documents.mending import FRESH
from askless.app.documents.spec.spec import read_spec
from askless.core.errors import RefusedError, shorten


def refused_fields(raw):
    with pytest.raises(RefusedError) as caught:
        read_spec(raw)
    return {refusal.field for refusal in caught.value.refusals}


def feature(**given):
    return {"name": "a", **given}


def test_target_alone_is_a_spec():
    spec = read_spec({"target": "label"})

    assert spec.table.features is None
    assert spec.folds == 3
    assert spec.boost.algorithm == "auto"


def test_costs_are_read_exactly():
    spec = read_spec({"target": "y", "features": [feature(cost=Decimal("2.100001"))]})

    assert spec.table.features[0].cost == 2_100_001


def test_member_of_a_bundle_costs_nothing_itself():
    spec = read_spec(
        {
            "target": "y",
            "groups": [{"name": "echo", "price": 90}],
            "features": [feature(group="echo")],
        }
    )

    assert spec.table.features[0].cost == 0


def test_null_beside_the_fee_or_the_price_is_as_if_left_out():
    groups = read_spec(
        {
            "target": "y",
            "groups": [
                {"name": "g", "fee": 1, "price": None, "members": ["a"]},
                {"name": "h", "fee": None, "price": 2, "members": ["b"]},
            ],
        }
    ).table.groups

    assert [group.fee for group in groups] == [1_000_000, 0]
    assert [group.price for group in groups] == [None, 2_000_000]


def test_group_may_name_its_members():
    spec = read_spec(
        {
            "target": "y",
            "groups": [{"name": "g", "fee": 1, "members": ["a"]}],
            "features": [feature()],
        }
    )

    assert spec.table.features[0].group == "g"


def test_error_costs_and_params_are_read():
    spec = read_spec(
        {
            "target": "y",
            "positive": 1,
            "error_costs": {"1": {"0": 5}},
            "params": {"rounds": 7, "tau": 0.5, "switch": 0.2, "cost_floor": 0.25},
            "validation": None,
            "classes": {"1": "yes"},
        }
    )

    assert spec.table.error_costs == {"1": {"0": 5.0}}
    assert spec.boost.rounds == 7
    assert spec.boost.cost_floor == 250_000
    assert spec.folds == 0
    assert spec.table.positive == "1"


@pytest.mark.parametrize("least", [1, 20, 1_000_000])
def test_rows_of_missing_values_are_read(least):
    raw = {"target": "y", "params": {"least_missing": least}}

    assert read_spec(raw).boost.least_missing == least
    assert read_spec({"target": "y"}).boost.least_missing == 20


def test_text_columns_are_those_read_as_written():
    spec = read_spec(
        {
            "target": "y",
            "group_by": "who",
            "features": [
                feature(type="category"),
                {"name": "b", "type": "number"},
                {"name": "c"},
            ],
        }
    )

    assert spec.table.text_columns == {"y", "who", "a"}


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ([], "spec"),
        ({}, "spec.target"),
        ({"target": 3}, "target"),
        ({"target": ""}, "target"),
    ],
)
def test_spec_without_a_target_is_refused(raw, field):
    assert field in refused_fields(raw)


NAMED = {"name": "g", "fee": 1, "members": ["a"]}
FEE = {"name": "g", "fee": 1}


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"colour": 1}, "colour"),
        ({"a\n": 1}, r"'a\n'"),
        ({"name": "x" * 201}, "name"),
        ({"positive": []}, "positive"),
        ({"positive": True, "seed": -1}, "seed"),
        ({"algorithm": "magic"}, "algorithm"),
        ({"algorithm": 3}, "algorithm"),
        ({"params": {"depth": 3}}, "params.depth"),
        ({"features": [feature(cots=1)]}, "features[0].cots"),
        ({"params": {"rounds": 0}}, "params.rounds"),
        ({"params": {"tau": 1.5}}, "params.tau"),
        ({"error_costs": {"a": {"b": 10**400}}}, "error_costs.a.b"),
        ({"params": {"cost_floor": 0}}, "params.cost_floor"),
        ({"validation": {"folds": 1}}, "validation.folds"),
        ({"weight": "y"}, "weight"),
        ({"features": []}, "features"),
        ({"features": {}}, "features"),
        ({"features": [feature(), feature()]}, "features[1].name"),
        ({"features": [feature(type="text")]}, "features[0].type"),
        ({"features": [feature(group="g")]}, "features[0].group"),
        ({"features": [{"name": "y"}]}, "features"),
        ({"costs": {"y": 2}}, "features"),
        ({"costs": {"a": 2}, "features": [feature()]}, "costs"),
        ({"groups": [{"name": "g"}]}, "groups[0]"),
        ({"groups": [{"name": "g", "fee": 1, "price": 1}]}, "groups[0]"),
        ({"groups": [{"name": "g", "price": None}]}, "groups[0]"),
        ({"groups": [{"name": "g", "fee": None}]}, "groups[0]"),
        ({"groups": [FEE], "features": [feature()]}, "groups"),
        (
            {
                "groups": [{"name": "g", "fee": 1, "members": ["a", "zz"]}],
                "features": [feature()],
            },
            "groups",
        ),
        ({"groups": [FEE, FEE]}, "groups[1].name"),
        (
            {"groups": [NAMED, {"name": "h", "fee": 1, "members": ["a"]}]},
            "groups[1].members",
        ),
        (
            {
                "groups": [NAMED, {"name": "h", "fee": 1}],
                "features": [feature(group="h")],
            },
            "features[0].group",
        ),
        (
            {
                "groups": [{"name": "g", "price": 9}],
                "features": [feature(group="g", cost=1)],
            },
            "features[0].cost",
        ),
    ],
)
def test_broken_rule_names_its_field(raw, field):
    assert field in refused_fields({"target": "y"} | raw)


@pytest.mark.parametrize(
    "cost", [-1, float("nan"), float("inf"), Decimal("0.0000001"), True, "1", None, 2e9]
)
def test_cost_must_be_an_exact_amount(cost):
    raw = {"target": "y", "features": [feature(cost=cost)]}

    assert refused_fields(raw) == {"features[0].cost"}


def test_all_refusals_come_at_once():
    raw = {
        "algorithm": "magic",
        "params": {"tau": 3},
        "features": [feature(cost=-1), feature(type="x")],
    }

    fields = refused_fields(raw)

    assert fields >= {
        "spec.target",
        "algorithm",
        "params.tau",
        "features[0].cost",
        "features[1].name",
        "features[1].type",
    }


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            {"validation": {"fold": 3}},
            "validation.fold: unknown field; the nearest is 'folds'; found 'fold'",
        ),
        (
            {"validation": {"zzz": 3}},
            "validation.zzz: unknown field; expected folds, budgets, deal; found 'zzz'",
        ),
        (
            {"folds": 5},
            "folds: unknown field; folds is validation.folds; found 'folds'",
        ),
        (
            {"Ignored": []},
            "Ignored: unknown field; the nearest is 'ignore'; found 'Ignored'",
        ),
        (
            {"zzz": 5},
            "zzz: unknown field; see docs/spec.md for those there are; found 'zzz'",
        ),
    ],
)
def test_unknown_field_is_refused_with_where_it_belongs(wrong, told):
    with pytest.raises(RefusedError) as caught:
        read_spec({"target": "y"} | wrong)

    assert str(caught.value) == told


def test_broken_groups_break_no_rule_besides():
    groups = [{"name": "blood", "fee": 1}, {"name": 3, "fee": 1}, 5, {"nme": "echo"}]
    members = [feature(group="blood"), {"name": "b", "group": "urine"}]

    with pytest.raises(RefusedError) as caught:
        read_spec({"target": "y", "groups": groups, "features": members})

    assert FRESH not in str(caught.value)
    assert [refusal.field for refusal in caught.value.refusals] == [
        "groups[1].name",
        "groups[2]",
        "groups[3].name",
        "groups[3].nme",
    ]


def test_found_values_are_shown_briefly():
    assert len(shorten("x" * 500)) == 60
