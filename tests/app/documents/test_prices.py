"""Price lists as they are stored."""

from dataclasses import replace

import numpy as np

from askless.app.documents.prices import PriceListWish, parse_prices, write_prices
from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.catalogue.price_lists import apply_prices

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


def test_stored_prices_keep_who_pays_no_fee_of_a_group() -> None:
    age, chol, wall = MOVED.features
    alone = replace(MOVED, features=(age, replace(chol, group=None), wall))

    prices = parse_prices(write_prices(alone), MOVED)

    assert apply_prices(MOVED, np.ones(3, np.bool_), prices, "prices") == alone


def test_stored_prices_keep_what_is_billed_by_call() -> None:
    age, chol, wall = MOVED.features
    groups = tuple(replace(group, billing="per_call") for group in MOVED.groups)
    features = (
        replace(age, billing="per_call"),
        chol,
        replace(wall, billing="per_call"),
    )
    billed = Catalogue(features, groups)

    prices = parse_prices(write_prices(billed), MOVED)
    back = parse_prices(write_prices(MOVED), billed)

    assert prices.billings == {"age": "per_call", "chol": "per_answer"}
    assert prices.group_billings == {"blood": "per_call", "echo": "per_call"}
    every = np.ones(3, np.bool_)
    assert apply_prices(MOVED, every, prices, "prices").features == features
    assert apply_prices(billed, every, back, "prices") == MOVED


def test_a_list_of_prices_may_replace_billing() -> None:
    wish = PriceListWish.model_validate(
        {
            "costs": {"age": 1},
            "groups": [
                {"name": "blood", "fee": 1},
                {"name": "echo", "price": 1, "billing": "per_call"},
            ],
            "billing": {"age": "per_call"},
        }
    )

    prices = wish.build("prices")

    assert (prices.billings, prices.group_billings) == (
        {"age": "per_call"},
        {"echo": "per_call"},
    )


def test_the_same_prices_are_the_same_text() -> None:
    renamed = [replace(feature, label="Other") for feature in MOVED.features]

    assert write_prices(replace(MOVED, features=tuple(renamed))) == write_prices(MOVED)
