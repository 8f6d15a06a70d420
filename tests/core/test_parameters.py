"""Ranges at the fields of a dataclass, as whoever reads values checks them."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal

import pytest
from annotated_types import Interval, doc

from askless.core.catalogue.costs import read_budgets, read_catalogue
from askless.core.errors import RefusedError
from askless.core.parameters import Amount, check_parameters, parameters_of
from askless.core.training.params import BoostParams


@dataclass(frozen=True)
class Wish:
    count: Annotated[int, Interval(ge=1, le=9), doc("How many.")] = 3
    share: Annotated[float, Interval(gt=0, le=1)] | None = None
    kind: Literal["a", "b"] = "a"
    is_on: bool = True
    floor: Annotated[Amount | None, doc("Least."), doc("In units.")] = None


RULES = {
    "count": "must be an integer from 1 to 9",
    "share": "must be a number above 0, at most 1",
    "kind": "must be one of a, b",
    "is_on": "must be true or false",
}


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        *(("count", raw) for raw in (0, 10, True, 2.0, "2", None, Decimal(2))),
        *(("share", raw) for raw in (0, 1.5, float("nan"), True, "1", 10**400)),
        *(("kind", raw) for raw in ("c", 1, None, ["a"])),
        *(("is_on", raw) for raw in (1, "yes", None)),
    ],
)
def test_value_out_of_range_is_refused_by_its_rule(name, raw):
    with pytest.raises(ValueError, match=RULES[name]):
        parameters_of(Wish)[name].check(raw)


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("count", 9, 9),
        ("share", Decimal("0.5"), 0.5),
        ("share", None, None),
        ("kind", "b", "b"),
        ("is_on", False, False),
        ("floor", Decimal("0.25"), 250_000),
        ("floor", None, None),
    ],
)
def test_value_within_its_range_is_taken(name, raw, value):
    assert parameters_of(Wish)[name].check(raw) == value


@pytest.mark.parametrize(("raw", "rule"), [("1", "an amount"), (0, "positive")])
def test_amount_is_a_positive_number(raw, rule):
    with pytest.raises(ValueError, match=rule):
        parameters_of(Wish)["floor"].check(raw)


def test_every_wrong_value_is_refused_by_its_path():
    values, refusals = check_parameters(Wish, {"count": 0, "kind": 1, "is_on": 0}, "w")

    assert values == {}
    assert [str(refusal) for refusal in refusals] == [
        "w.count: must be an integer from 1 to 9; found 0",
        "w.kind: must be one of a, b; found 1",
        "w.is_on: must be true or false; found 0",
    ]


def test_sentences_stand_at_the_field():
    assert parameters_of(Wish)["floor"].text == "Least. In units."
    assert all(
        parameter.text
        for name, parameter in parameters_of(BoostParams).items()
        if name not in ("algorithm", "seed")
    )


def test_names_of_groups_are_texts():
    groups = [{"members": ["a"], "fee": 1, "name": 3, "label": []}]

    with pytest.raises(RefusedError) as refused:
        read_catalogue(["a"], None, groups)

    fields = [refusal.field for refusal in refused.value.refusals]
    assert fields == ["groups[0].name", "groups[0].label"]


def test_label_of_a_group_is_kept():
    groups = [{"members": "a", "price": 1, "label": "Both"}]

    assert read_catalogue(["a"], None, groups).groups[0].label == "Both"


def test_one_budget_is_no_list():
    with pytest.raises(RefusedError, match="budgets: must be a list"):
        read_budgets("12", "budgets")
