"""A training spec as the fields of a form, and back."""

from decimal import Decimal
from typing import Any

import pytest

from askless import BudgetedBoostingClassifier
from askless.app.documents.spec.spec import read_spec
from askless.app.pages.trainings.new_training import ALGORITHM_WORDS, count_unpriced
from askless.app.pages.trainings.spec_forms import (
    WHOLES,
    add_groups,
    draft_form,
    fill_prices,
    group_rows,
    join_marks,
    read_form,
    split_marks,
)
from askless.app.uploads.parsing import DraftedTable
from askless.app.uploads.price_tables import PriceTable
from askless.core.pipeline.spec import TrainingSpec
from askless.core.table.draft import ColumnDraft
from askless.core.table.spec import TableSpec
from askless.core.training.algorithms import ALGORITHMS

COLUMNS = ("age", "chol", "nr", "ill")
SPEC: dict[str, Any] = {
    "name": "m",
    "target": "ill",
    "positive": "1",
    "cost_unit": "",
    "features": [
        {"name": "age", "type": "number", "cost": 1, "missing": ["-9", 'a,"b']},
        {"name": "chol", "type": "category", "cost": 1, "rare": 5},
    ],
    "ignore": ["nr"],
    "missing_target": "drop",
}


@pytest.fixture
def typed() -> dict[str, str]:
    columns = tuple((ColumnDraft(column, "number"), None) for column in COLUMNS[:3])
    typed = draft_form(DraftedTable(SPEC, ("0", "1"), columns), COLUMNS)
    return typed | {"c0-cost": "1", "c1-cost": "1"}


def test_a_draft_comes_back_as_it_was(typed: dict[str, str]) -> None:
    read = read_form(typed, COLUMNS)

    assert not read.refusals
    usual = {"algorithm": "auto", "effort": "standard", "seed": 0}
    more = {"params": {"rounds": 300}, "validation": {"folds": 3}}
    assert read.spec == SPEC | usual | more


def test_what_is_typed_is_read_to_the_cent(typed: dict[str, str]) -> None:
    typed |= {
        "c0-cost": "0,1",
        "c0-unit": "years",
        "c0-label": "Age",
        "k1-shown": "ill",
    }
    typed |= {"c1-group": "blood", "g0-name": "blood", "g0-kind": "fee"}
    typed |= {"g0-amount": "2.10", "budgets": "5, 20.5", "c2-role": "group_by"}

    spec = read_form(typed, COLUMNS).spec

    assert spec["features"][0]["cost"] == Decimal("0.1")
    assert spec["features"][0]["unit"] == "years"
    assert spec["groups"] == [{"name": "blood", "fee": Decimal("2.10")}]
    assert spec["classes"] == {"1": "ill"}
    assert spec["validation"]["budgets"] == [Decimal(5), Decimal("20.5")]
    assert spec["group_by"] == "nr"
    assert "ignore" not in spec


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("c0-cost", "1,500"),
        ("c0-cost", ""),
        ("c0-rare", "-1"),
        ("rounds", "ten"),
        ("seed", "9" * 19),
        ("budgets", "5, x"),
        ("c1-group", "blood"),
        ("c0-missing", "x" * 20_001),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_field(
    typed: dict[str, str], field: str, text: str
) -> None:
    read = read_form(typed | {field: text}, COLUMNS)

    assert [refusal.field for refusal in read.refusals] == [field]


def test_a_draft_has_no_prices_unless_all_cost_the_same() -> None:
    columns = tuple((ColumnDraft(column, "number"), None) for column in COLUMNS[:3])
    typed = draft_form(DraftedTable(SPEC, ("0", "1"), columns), COLUMNS)
    bundle = {"c0-group": "echo", "g0-name": "echo", "g0-kind": "price"}
    same = read_form(typed | {"same_cost": "yes", "c1-cost": "7"}, COLUMNS)

    assert count_unpriced(typed, COLUMNS) == 2
    assert count_unpriced(typed | bundle, COLUMNS) == 1
    refused = [refusal.field for refusal in read_form(typed, COLUMNS).refusals]
    assert refused == ["c0-cost", "c1-cost"]
    assert [feature["cost"] for feature in same.spec["features"]] == [1, 7]


def test_two_columns_have_not_the_same_part(typed: dict[str, str]) -> None:
    read = read_form(typed | {"c0-role": "weight", "c1-role": "weight"}, COLUMNS)

    assert [refusal.field for refusal in read.refusals] == ["c1-role"]


def test_a_member_of_a_bundle_needs_no_cost(typed: dict[str, str]) -> None:
    typed |= {"c0-cost": "", "c0-group": "echo"}
    typed |= {"g0-name": "echo", "g0-kind": "price", "g0-amount": "90"}

    read = read_form(typed, COLUMNS)

    assert not read.refusals
    assert read.spec["groups"] == [{"name": "echo", "price": Decimal(90)}]
    assert "cost" not in read.spec["features"][0]


@pytest.mark.parametrize(
    ("place", "field"),
    [
        ("features[1].cost", "c1-cost"),
        ("features[1]", "c1-role"),
        ("column chol", "c1-type"),
        ("column ill", "target"),
        ("groups[0].fee", "g2-amount"),
        ("groups[0]", "g2-name"),
        ("classes.1", "k1-shown"),
        ("params.rounds", "rounds"),
        ("validation.budgets[3]", "budgets"),
        ("name", "name"),
        ("table", "table"),
    ],
)
def test_a_rule_of_the_spec_is_told_at_a_field(
    typed: dict[str, str], place: str, field: str
) -> None:
    typed |= {"g2-name": "blood", "g2-amount": "1"}

    assert read_form(typed, COLUMNS).field_of(place) == field


def test_prices_fill_fields_and_groups(typed: dict[str, str]) -> None:
    typed |= {"g0-name": "old", "g0-kind": "fee", "g0-amount": "1"}
    groups = {"age": "blood", "chol": "old"}
    prices = PriceTable({"age": 0.1, "chol": 20.0}, groups, {"blood": 2.1, "old": 3.0})

    fill_prices(typed, COLUMNS, prices)

    assert (typed["c0-cost"], typed["c1-cost"], typed["c1-group"]) == (
        "0.1",
        "20",
        "old",
    )
    assert (typed["g0-amount"], typed["g1-name"], typed["g1-amount"]) == (
        *("3", "blood", "2.1"),
    )


def test_a_group_that_a_column_names_gets_a_row(typed: dict[str, str]) -> None:
    typed |= {"c0-group": "blood", "c1-group": "blood"}

    add_groups(typed, COLUMNS)

    assert typed["g0-name"] == "blood"
    assert list(group_rows(typed, COLUMNS)) == [0, 1]


def test_words_for_missing_stand_in_one_line() -> None:
    words = ["n.d.", "a, b", 'say "no"', "-9"]

    assert split_marks(join_marks(words)) == words
    assert split_marks("  ") == []


def test_every_algorithm_has_its_line() -> None:
    assert ALGORITHM_WORDS.keys() == ALGORITHMS.keys()


def test_every_door_has_the_same_number_of_folds_by_default() -> None:
    usual = TrainingSpec(TableSpec("y")).folds

    assert read_spec({"target": "y"}).folds == usual
    assert read_spec({"target": "y", "validation": {}}).folds == usual
    assert BudgetedBoostingClassifier().folds == usual
    assert WHOLES["folds"] == ("validation", usual)
