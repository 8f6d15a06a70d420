"""Several providers of one offer: which is called, and what each charges."""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from askless.app.buyer.buyer import RunBuyer
from askless.app.records import StoredProvider
from askless.app.service.buying.offers import charge_as, open_filler
from askless.core.catalogue.catalogue import Group
from askless.core.session.answers import sum_paid
from askless.core.session.state import Charge
from tests.app.buying.conftest import DOMAINS, SHOP, Decide, Provide, shop
from tests.app.buying.test_run_rules import wait_until
from tests.app.buying.vendors import EMPTY, Vendors, fails
from tests.app.clinic import Put, on

pytest_plugins = ["tests.app.conftest_http"]

ALL = ("firmo", "visits", "score")
Json = dict[str, Any]


def micros(amount: float) -> int:
    return round(amount * 1_000_000)


def calls_of(client: TestClient, session: Json) -> dict[str, Json]:
    receipt = client.get(f"/predict/{session['id']}/receipt").json()
    return {call["provider"]: call for call in receipt["bought"] if call["provider"]}


def test_one_without_a_price_charges_that_of_the_model_and_not_of_another(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient
) -> None:
    """Its billing is the model's, too: here by call."""
    provide("visits", "score")
    provide("firmo", price=0.02, billing="per_answer")
    provide("firmo2", price=None, billing=None)
    vendors.script("firmo", fails(503))
    vendors.script("firmo2", EMPTY)

    session = decide()

    called = calls_of(client, session)
    assert called["firmo"]["price"] == 0.02
    assert (called["firmo2"]["price"], called["firmo2"]["charged"]) == (0.05, 0.05)


def test_the_cheapest_comes_first_also_where_the_model_says_its_price(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient
) -> None:
    provide("visits", "score")
    provide("firmo2", price=0.02)
    provide("firmo", price=None)
    vendors.script("firmo2", fails(503))

    called = calls_of(client, decide())

    assert list(called)[1:3] == ["firmo2", "firmo"]
    assert called["firmo"]["charged"] == 0.05


def put_web(put: Put, *members: int) -> str:
    """Store the shop's model with some features in a group that has a fee."""
    features = list(SHOP.features)
    for idx in members:
        features[idx] = replace(features[idx], group="web")
    groups = (*SHOP.groups, Group("web", fee=500))
    catalogue = replace(SHOP, features=tuple(features), groups=groups)
    return put(replace(shop(), catalogue=catalogue), "fees")


@pytest.mark.parametrize("budget", [1.0, 0.001])
def test_the_fee_of_a_group_is_not_added_to_what_a_provider_charges(
    decide: Decide, provide: Provide, vendors: Vendors, put: Put, budget: float
) -> None:
    """The plan counts none either: a budget that pays the price alone suffices."""
    provide(*ALL)

    session = decide(model=put_web(put, 3), budget=budget)

    assert "visits" in vendors.bill_by_vendor()
    assert micros(session["budget"]["spent"]) == sum(vendors.bill_by_vendor().values())


@pytest.mark.parametrize(("budget", "is_bought"), [(0.6515, True), (0.6514, False)])
def test_a_fee_is_due_where_the_model_says_the_price(
    decide: Decide, provide: Provide, put: Put, budget: float, is_bought: bool
) -> None:
    """What another member has cost at a price of its own has not paid it."""
    provide("firmo", "visits")
    provide("score", price=None)

    session = decide(model=put_web(put, 3, 4), budget=budget)

    assert micros(session["budget"]["spent"]) == (651_500 if is_bought else 51_000)


def test_a_fee_that_an_empty_answer_has_paid_is_not_due_again(
    decide: Decide, provide: Provide, vendors: Vendors, put: Put, client: TestClient
) -> None:
    """Not even where another provider then fills the feature at its own price."""
    provide("firmo")
    provide("visits", price=None, billing="per_call")
    provide("firmo2", fills="visits", price=0.003, billing="per_answer")
    provide("score", price=None)
    vendors.script("visits", EMPTY)

    session = decide(model=put_web(put, 3, 4))

    called = calls_of(client, session)
    charged = {name: call["charged"] for name, call in called.items()}
    assert charged == {"visits": 0.0015, "firmo2": 0.003, "firmo": 0.05, "score": 0.6}
    assert micros(session["budget"]["spent"]) == 654_500


def test_a_fee_that_was_paid_is_not_due_again_where_its_seller_gets_a_price(
    provide: Provide, vendors: Vendors, put: Put, client: TestClient, buyer: RunBuyer
) -> None:
    """A stored provider may change while a run goes on."""
    del buyer
    provide("firmo")
    provide("visits", price=None, billing="per_call")
    provide("firmo2", fills="visits", price=0.003, billing="per_answer")
    provide("score", price=None)
    vendors.script("visits", EMPTY)
    vendors.vendors["firmo2"].latency_s = 0.8
    body = {"model": put_web(put, 3, 4), "budget": 1, "keys": {"domain": DOMAINS[20]}}
    path = f"/predict/{client.post('/predict', json=body | {'run': True}).json()['id']}"
    wait_until(lambda: any(asked.vendor == "firmo2" for asked in vendors.requests))
    provide("visits", price=0.002, billing="per_call")

    wait_until(lambda: client.get(path).json()["state"] == "closed")

    assert micros(client.get(path).json()["budget"]["spent"]) == 654_500


@pytest.mark.parametrize("budget", [0.0025, 0.003])
def test_the_second_is_bought_where_the_first_has_paid_the_fee_for_nothing(
    decide: Decide, provide: Provide, vendors: Vendors, put: Put, budget: float
) -> None:
    """The budget still pays the second one, whose price then has no fee."""
    provide("firmo", "score")
    provide("firmo2", fills="visits", price=None, billing="per_call")
    provide("visits", price=None)
    vendors.script("firmo2", EMPTY)

    session = decide(model=put_web(put, 3), budget=budget)

    assert micros(session["budget"]["spent"]) == 2_500


@pytest.mark.parametrize("budget", [0.0015, 0.003])
def test_what_a_failed_call_held_pays_the_second(
    decide: Decide, provide: Provide, vendors: Vendors, budget: float
) -> None:
    provide("firmo", "score")
    provide("firmo2", fills="visits", price=0.001)
    provide("visits", price=0.0012)
    vendors.script("firmo2", fails(503))

    assert micros(decide(budget=budget)["budget"]["spent"]) == 1_200


@pytest.mark.parametrize(("amount", "paid"), [(1_500, {0}), (1_000, ()), (3_000, ())])
def test_a_miss_has_paid_the_fee_at_the_price_of_the_model_alone(
    amount: int, paid: Collection[int]
) -> None:
    visits = replace(SHOP.features[3], group="web")
    catalogue = replace(SHOP, features=(visits,), groups=(Group("web", fee=500),))

    found = sum_paid(catalogue, [Charge(0, amount, "miss", "visits")])

    assert found.group_idxs == frozenset(paid)


def test_a_fee_is_due_again_once_the_charge_that_paid_it_is_reversed(
    vendors: Vendors,
) -> None:
    features = tuple(replace(SHOP.features[idx], group="web") for idx in (3, 4))
    own = replace(SHOP, features=features, groups=(Group("web", fee=500),))
    document = vendors.provider("visits", {"visits": "visits"})
    alone = open_filler(StoredProvider("prv_1", "visits", document, on(1), on(1)))

    paid = charge_as(own, own, [alone], {0: 0})
    reversed_ = charge_as(paid, own, [alone], {})

    assert (paid.groups[0].fee, reversed_.groups[0].fee) == (0, 500)


def test_a_run_has_no_prices_but_those_of_its_providers(
    client: TestClient, put: Put, provide: Provide
) -> None:
    provide(*ALL)
    body = {"model": put(shop(), "shop"), "budget": 1, "run": True}
    prices = {"costs": {"visits": 2}}

    refused = client.post(
        "/predict", json=body | {"prices": prices, "keys": {"domain": DOMAINS[0]}}
    )

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "prices"


@pytest.mark.parametrize("status", [500, 502, 503])
def test_the_second_is_bought_after_the_first_has_failed(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient, status: int
) -> None:
    provide(*ALL, "firmo2")
    vendors.script("firmo", fails(status))

    session = decide()

    called = calls_of(client, session)
    assert (called["firmo"]["state"], called["firmo"]["charged"]) == ("released", 0)
    assert (called["firmo2"]["state"], called["firmo2"]["charged"]) == ("settled", 0.06)
    values = {answer["feature"]: answer["value"] for answer in session["answers"]}
    assert (values["size"], values["industry"]) == (190, "it")
    assert micros(session["budget"]["spent"]) == sum(vendors.bill_by_vendor().values())


def test_one_that_asked_to_wait_is_called_again_for_later_cases(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient
) -> None:
    """Not within the case that it failed, which has gone on to the next provider."""
    provide(*ALL, "firmo2")
    vendors.script("firmo", fails(429, "1"))
    vendors.vendors["firmo2"].latency_s = 1.5

    first, later = decide(DOMAINS[20]), decide(DOMAINS[21])

    assert list(calls_of(client, first)) == ["visits", "firmo", "firmo2", "score"]
    assert list(calls_of(client, later)) == ["visits", "firmo", "score"]
    asked = Counter(request.vendor for request in vendors.requests)
    assert (asked["firmo"], asked["firmo2"]) == (2, 1)
    assert client.get("/providers/firmo").json()["spent"] == 0.05
