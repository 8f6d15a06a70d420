"""The tool `decide`: an agent has a case bought for, under its cap."""

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.buyer.buyer import RunBuyer
from tests.app.buying.conftest import DOMAINS, Provide, shop
from tests.app.buying.vendors import Vendors
from tests.app.clinic import MakeApp, Put
from tests.app.doors.agents import Agent

pytest_plugins = ["tests.app.conftest_http"]
READ_ANSWERS = ("firmo", "visits", "score")


@pytest.fixture
def app(make_app: MakeApp) -> FastAPI:
    return make_app(is_local=True, doors=["mcp"])


@pytest.fixture
def agent(client: TestClient, put: Put, provide: Provide) -> Agent:
    put(shop(), "shop")
    provide(*READ_ANSWERS)
    return Agent(client.post)


def test_an_agent_gets_the_receipt(
    agent: Agent, vendors: Vendors, buyer: RunBuyer
) -> None:
    del buyer
    keys = {"domain": DOMAINS[20]}

    receipt = agent.do("decide", model="shop", budget=0.1, keys=keys)

    assert receipt["state"] == "closed"
    assert receipt["budget"]["limit"] == 0.1
    spent = round(1e6 * receipt["budget"]["spent"])
    assert spent == sum(vendors.bill_by_vendor().values())
    assert spent <= 100_000
    assert [entry["features"] for entry in receipt["not_bought"]] == [["score"]]


def test_a_case_that_still_buys_is_asked_for_again(agent: Agent) -> None:
    keys = {"domain": DOMAINS[20]}
    first = agent.do("decide", model="shop", budget=1, keys=keys, wait_s=0)

    again = agent.do("decide", case=first["session"], wait_s=0)

    assert (first["state"], again["session"]) == ("open", first["session"])


@pytest.mark.parametrize("arguments", [{"model": "shop"}, {"budget": 1}, {}])
def test_without_a_cap_nothing_is_bought(
    agent: Agent, vendors: Vendors, arguments: dict[str, object]
) -> None:
    result = agent.call("decide", **arguments)

    assert result["isError"]
    assert vendors.requests == []


def test_start_case_starts_no_run(agent: Agent) -> None:
    result = agent.call("start_case", model="shop", budget=1, run=True)

    assert result["isError"]
    assert "decide" in result["content"][0]["text"]
