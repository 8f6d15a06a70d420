"""Price lists as they are stored, and specs at their prices."""

from dataclasses import replace

from askless.app.documents.prices import parse_prices, reprice_spec, write_prices
from askless.app.documents.spec import read_spec
from askless.core.table.catalogue import Catalogue, Feature, Group

MOVED = Catalogue(
    (
        Feature("age", cost=9_000_000),
        Feature("chol", cost=100_000, group="blood"),
        Feature("wall", cost=0, group="echo"),
    ),
    (Group("blood", fee=1), Group("echo", price=70_000_000)),
)
SPEC = {
    "target": "ill",
    "features": [
        {"name": "age", "label": "Age"},
        {"name": "chol", "cost": 5.17, "group": "blood"},
        {"name": "wall", "group": "echo"},
        {"name": "gone", "cost": 3},
    ],
    "groups": [
        {"name": "blood", "fee": 2.1, "label": "Blood"},
        {"name": "echo", "price": 90},
    ],
    "seed": 3,
}


def test_stored_prices_are_read_as_they_were_written() -> None:
    prices = parse_prices(write_prices(MOVED), MOVED)

    assert prices.costs == {"age": 9_000_000, "chol": 100_000, "wall": 0}
    assert prices.groups == MOVED.groups


def test_the_same_prices_are_the_same_text() -> None:
    renamed = [replace(one, label="Other") for one in MOVED.features]

    assert write_prices(replace(MOVED, features=tuple(renamed))) == write_prices(MOVED)


def test_spec_is_as_it_was_but_for_its_prices() -> None:
    made = reprice_spec(SPEC, MOVED)

    assert made == SPEC | {
        "features": [
            {"name": "age", "label": "Age", "cost": 9.0},
            {"name": "chol", "cost": 0.1, "group": "blood"},
            {"name": "wall", "group": "echo"},
            {"name": "gone", "cost": 3},
        ],
        "groups": [
            {"name": "blood", "fee": 0.000001, "label": "Blood"},
            {"name": "echo", "price": 70.0},
        ],
    }
    read_spec(made)


def test_spec_without_features_gets_the_short_form() -> None:
    groups = [
        {"name": "blood", "fee": 2.1, "members": ["chol"]},
        {"name": "echo", "price": 90, "members": ["wall"]},
    ]
    spec = {"target": "ill", "costs": {"age": 4}, "groups": groups}

    made = reprice_spec(spec, MOVED)

    assert made["costs"] == {"age": 9.0, "chol": 0.1}
    assert made["groups"][0] == groups[0] | {"fee": 0.000001}
    read_spec(made)
