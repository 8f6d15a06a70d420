"""Sessions at other prices than their model's."""

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.main import create_app
from askless.app.settings.settings import Settings
from askless.app.store.price_lists import price_lists
from tests.app.clinic import Answer, Json, Put, Start, local_client
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]
only_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)

#: of a laboratory that is dearer in all but chol
LAB: Json = {
    "costs": {"age": 2, "sex": 1.5, "chol": 0.25, "fbs": 4, "ecg": 30},
    "groups": [{"name": "blood", "fee": 0.5}],
}
WHOLE_LIST = {
    "costs": {**LAB["costs"], "echo1": 0, "echo2": 0},
    "groups": [
        {
            "name": "blood",
            "label": None,
            "fee": 0.5,
            "price": None,
            "billing": "per_answer",
        },
        {
            "name": "echo",
            "label": None,
            "fee": None,
            "price": 9,
            "billing": "per_answer",
        },
    ],
}


def shown(session: Json) -> Json:
    """The amounts of a session's price list, without what becomes of it."""
    return {name: session["prices"][name] for name in ("costs", "groups")}


def test_session_charges_the_prices_of_its_list(
    client: TestClient, start: Start, answer: Answer
) -> None:
    session = start(60.0, prices=LAB)

    after = answer(session, ("chol", 233), ("fbs", True), ("echo1", 2)).json()

    charged = {answer["feature"]: answer["charged"] for answer in after["answers"]}
    assert charged == {"chol": 0.75, "fbs": 4.0, "echo1": 9.0, "echo2": 0.0}
    assert after["budget"]["spent"] == 13.75
    entries = client.get(f"/predict/{session['id']}/ledger").json()["items"]
    assert [entry["amount"] for entry in entries] == [0.75, 4.0, 9.0, 0.0]


@only_sqlite
def test_session_is_asked_and_priced_by_the_whole_list(
    client: TestClient, start: Start
) -> None:
    session = start(60.0, prices=LAB)

    again = client.get(f"/predict/{session['id']}").json()

    question = session["question"]
    assert shown(session) == shown(again) == WHOLE_LIST
    assert (question["feature"], question["price"]) == ("age", 2.0)
    prices = {
        alternative["feature"]: alternative["price"]
        for alternative in question["alternatives"]
    }
    assert prices["chol"] == 0.75


def test_server_that_starts_anew_goes_on_at_the_same_prices(
    client: TestClient, start: Start, settings: Settings
) -> None:
    session = start(60.0, prices=LAB)
    given = {"feature": "chol", "outcome": "value", "value": 233}

    with local_client(create_app(settings, is_local=True)) as other:
        path = f"/predict/{session['id']}"
        after = other.post(f"{path}/answers", json={"answers": [given]}).json()

    assert after["budget"]["spent"] == 0.75
    assert client.get(path).json() == after


@only_sqlite
def test_erased_session_shows_no_list(client: TestClient, start: Start) -> None:
    session = start(60.0, prices=LAB)

    client.delete(f"/predict/{session['id']}")

    assert client.get(f"/predict/{session['id']}").json()["prices"] is None


def test_lists_that_say_the_same_are_stored_once(
    engine: sa.Engine, put: Put, start: Start
) -> None:
    model = put()
    said_otherwise = {
        "costs": dict(reversed({**LAB["costs"], "echo1": 0}.items())),
        "groups": [*LAB["groups"], {"name": "echo", "price": 9}],
    }

    for prices in (LAB, said_otherwise, LAB | {"groups": []}):
        start(60.0, model=model, prices=prices)

    with transaction(engine, is_read=True) as db:
        n_lists = db.scalar(sa.select(sa.func.count()).select_from(price_lists))
    assert n_lists == 2


@only_sqlite
def test_cost_that_does_not_fit_is_refused_by_name(
    client: TestClient, put: Put
) -> None:
    for change, field, rule in [
        ({"ecg": None}, "costs.ecg", "is required: the model reads this feature"),
        ({"ecg": -1}, "costs.ecg", "must be an amount such as 12.50, from 0 to"),
        ({"ecg": "1"}, "costs.ecg", "must be an amount such as 12.50, from 0 to"),
        ({"ecg": 0.0000001}, "costs.ecg", "with at most 6 decimals"),
        ({"bmi": 1}, "costs.bmi", "must name a feature of the model"),
        ({"ECG": 1}, "costs.ECG", "of the model; the nearest is 'ecg'"),
        ({"echo1": 1}, "costs.echo1", "a member of a bundle has no cost of its own"),
    ]:
        costs = {k: v for k, v in (LAB["costs"] | change).items() if v is not None}
        body = {"model": put(), "budget": 1, "prices": {"costs": costs}}

        refused = client.post("/predict", json=body)

        assert refused.status_code == 422
        [error] = refused.json()["errors"]
        assert error["field"] == f"prices.{field}"
        assert rule in error["rule"]


@only_sqlite
def test_group_that_does_not_fit_is_refused_by_name(
    client: TestClient, put: Put
) -> None:
    for groups, field in [
        ([{"name": "xray", "fee": 1}], "prices.groups[0].name"),
        ([{"name": "blood"}], "prices.groups[0]"),
        ([{"name": "blood", "fee": 1, "price": 1}], "prices.groups[0]"),
        ([{"name": "blood", "price": 1}], "prices.groups[0]"),
        ([{"name": "echo", "fee": 1}], "prices.groups[0]"),
        ([{"name": "blood", "fee": -1}], "prices.groups[0].fee"),
        ([{"fee": 1}], "prices.groups[0].name"),
    ]:
        body = {"model": put(), "budget": 1, "prices": LAB | {"groups": groups}}

        refused = client.post("/predict", json=body)

        assert refused.status_code == 422
        assert [error["field"] for error in refused.json()["errors"]] == [field]
