"""Runs buy by themselves: what they pay is what the vendors bill."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.app.buying.conftest import DOMAINS, Decide, Provide
from tests.app.buying.vendors import (
    DROP_AFTER,
    EMPTY,
    NOT_JSON,
    Vendors,
    fails,
    redirect,
)

pytest_plugins = ["tests.app.conftest_http"]

ALL = ("firmo", "visits", "score")


def micros(amount: float) -> int:
    return round(amount * 1_000_000)


def calls_of(client: TestClient, session: dict[str, Any]) -> list[dict[str, Any]]:
    receipt = client.get(f"/predict/{session['id']}/receipt").json()
    return [bought for bought in receipt["bought"] if bought["provider"]]


def test_a_run_buys_what_its_plan_asks_for(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient
) -> None:
    provide(*ALL)

    session = decide()

    assert session["state"] == "closed"
    assert session["run"] == {"state": "ended", "left_out": {}}
    values = {answer["feature"]: answer["value"] for answer in session["answers"]}
    assert values["size"] == 190
    assert micros(session["budget"]["spent"]) == vendors.bill_by_case()[DOMAINS[20]]
    states = [call["state"] for call in calls_of(client, session)]
    assert states == ["settled"] * len(vendors.bill)


def test_an_empty_answer_is_charged_by_its_billing(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient
) -> None:
    provide(*ALL)
    vendors.script("firmo", EMPTY)
    vendors.script("visits", EMPTY)

    session = decide()

    ledger = client.get(f"/predict/{session['id']}/ledger").json()["items"]
    kinds = {(row["provider"], row["kind"]): row["amount"] for row in ledger}
    assert kinds["firmo", "miss"] == 0.05
    assert not any(provider == "visits" for provider, _ in kinds)
    outcomes = {answer["feature"]: answer["outcome"] for answer in session["answers"]}
    assert outcomes["size"] == outcomes["visits"] == "unavailable"
    assert micros(session["budget"]["spent"]) == sum(vendors.bill_by_vendor().values())


def test_the_second_provider_is_called_where_the_first_is_empty(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient
) -> None:
    provide(*ALL, "firmo2")
    vendors.script("firmo", EMPTY)

    session = decide()

    bought = {call["provider"]: call["state"] for call in calls_of(client, session)}
    assert bought["firmo"] == "missed"
    assert bought["firmo2"] == "settled"
    values = {answer["feature"]: answer["value"] for answer in session["answers"]}
    assert values["industry"] == "it"
    assert micros(session["budget"]["spent"]) == sum(vendors.bill_by_vendor().values())


@pytest.mark.parametrize("behaviour", [fails(503), fails(404), fails(402)])
def test_what_failed_costs_nothing_and_says_nothing(
    decide: Decide,
    provide: Provide,
    vendors: Vendors,
    client: TestClient,
    behaviour: Any,
) -> None:
    provide(*ALL)
    vendors.script("firmo", behaviour, behaviour)

    session = decide()

    outcomes = {answer["feature"]: answer["outcome"] for answer in session["answers"]}
    assert outcomes["size"] == "unknown"
    states = {call["provider"]: call["state"] for call in calls_of(client, session)}
    assert states["firmo"] == "released"
    assert micros(session["budget"]["spent"]) == sum(vendors.bill_by_vendor().values())


def test_no_answer_in_time_is_in_doubt_and_counts_as_spent(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient
) -> None:
    provide(*ALL, timeout_s=0.5)
    vendors.script("score", DROP_AFTER)

    session = decide()

    states = {call["provider"]: call["state"] for call in calls_of(client, session)}
    assert states["score"] == "in_doubt"
    assert session["budget"]["spent"] == 0.651
    assert session["pending"] == ["score"]


def test_an_answer_that_cannot_be_read_is_billed_and_kept_out(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient
) -> None:
    provide(*ALL)
    vendors.script("firmo", NOT_JSON)

    session = decide()

    call = next(c for c in calls_of(client, session) if c["provider"] == "firmo")
    assert (call["state"], call["charged"], call["reason"]) == (
        "missed",
        0.05,
        "unreadable",
    )
    outcomes = {answer["feature"]: answer["outcome"] for answer in session["answers"]}
    assert outcomes["size"] == "unknown"


def test_a_redirect_is_an_answer_without_a_value(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient
) -> None:
    """By call it costs the price, by answer nothing, and nobody follows it."""
    provide(*ALL)
    for name in ("firmo", "visits"):
        vendors.script(name, redirect(vendors.url("score")))

    session = decide()

    called = {call["provider"]: call for call in calls_of(client, session)}
    assert (called["firmo"]["state"], called["firmo"]["charged"]) == ("missed", 0.05)
    assert (called["visits"]["state"], called["visits"]["charged"]) == ("missed", 0)
    assert called["firmo"]["reason"] == "answered 302"
    assert micros(session["budget"]["spent"]) == sum(vendors.bill_by_vendor().values())
    assert vendors.counts_by_vendor()["score"] == 1


def test_what_nobody_could_fill_is_charged_if_a_person_answers_it(
    decide: Decide, provide: Provide, client: TestClient
) -> None:
    provide("firmo", "score")
    provide("visits", request={"url": "http://127.0.0.1:1/", "method": "GET"})

    session = decide()

    ledger = client.get(f"/predict/{session['id']}/ledger").json()["items"]
    assert {row["provider"] for row in ledger} == {"firmo", "score"}
    outcomes = {answer["feature"]: answer for answer in session["answers"]}
    assert outcomes["visits"]["outcome"] == "unknown"
    assert outcomes["visits"]["charged"] == 0
