"""Price lists as they are stored."""

from dataclasses import replace

from askless.app.documents.prices import parse_prices, write_prices
from askless.core.catalogue.catalogue import Catalogue, Feature, Group

MOVED = Catalogue(
    (
        Feature("age", cost=9_000_000),
        Feature("chol", cost=100_000, group="blood"),
        Feature("wall", cost=0, group="echo"),
    ),
    (Group("blood", fee=1), Group("echo", price=70_000_000)),
)


def test_stored_prices_are_read_as_they_were_written() -> None:
    prices = parse_prices(write_prices(MOVED), MOVED)

    assert prices.costs == {"age": 9_000_000, "chol": 100_000, "wall": 0}
    assert prices.groups == MOVED.groups


def test_the_same_prices_are_the_same_text() -> None:
    renamed = [replace(feature, label="Other") for feature in MOVED.features]

    assert write_prices(replace(MOVED, features=tuple(renamed))) == write_prices(MOVED)
