"""What a model says of offers that come back empty."""

from dataclasses import replace
from typing import Any

import pytest

from askless.app.documents.model.card import read_empty_answers
from askless.app.words.facts import MOST_OFFERS, list_facts
from askless.core.model.model import Model
from tests.sessions import small_ensemble


def offer(name: str, share: float, cost: float, **changes: Any) -> dict[str, Any]:
    billing = "per_call" if cost else "per_answer"
    fields = {"offer": name, "price": 0.5, "billing": billing, "share": share}
    return fields | {"cost": cost} | changes


def make(*offers: dict[str, Any]) -> Model:
    return Model("m", small_ensemble([1, 1]), "y", card={"empty_answers": [*offers]})


def test_offers_that_come_back_empty_are_named_the_dearest_first() -> None:
    model = make(offer("a", 0.3, 0.0), offer("b", 0.25, 0.125), offer("c", 0.0, 0.0))

    words = "b in 25 %, which costs 0.125 a case; a in 30 %, which costs nothing"
    assert ("Empty answers", words) in list_facts(model)


def test_a_feature_is_called_by_its_label() -> None:
    made = make(offer("f0", 0.3, 0.0))
    catalogue = made.ensemble.catalogue
    features = (replace(catalogue.features[0], label="Age"), *catalogue.features[1:])
    named = replace(made.ensemble, catalogue=replace(catalogue, features=features))

    facts = dict(list_facts(replace(made, ensemble=named)))
    assert facts["Empty answers"] == "Age in 30 %, which costs nothing"


def test_many_offers_are_counted() -> None:
    model = make(*(offer(f"o{n}", 0.5, 0.0) for n in range(MOST_OFFERS + 2)))

    assert dict(list_facts(model))["Empty answers"].endswith("; and 2 more")


@pytest.mark.parametrize(
    "wrong", [{"share": 2}, {"billing": "never"}, {"cost": "much"}, {"offer": None}]
)
def test_a_card_that_is_malformed_says_nothing(wrong: dict[str, Any]) -> None:
    model = make(offer("a", 0.3, 0.0) | wrong)

    assert read_empty_answers(model) == ()
    assert "Empty answers" not in dict(list_facts(model))
