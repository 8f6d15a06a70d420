"""The rules of runs: who may do what beside them, and what they may cost."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.documents.buying.receipts import digest_receipt
from askless.app.records import DEFAULT_TENANT
from askless.app.service.buying.verifying import (
    check_ledger,
    check_receipt,
    check_stored,
)
from askless.app.store.database.engine import transaction
from tests.app.buying.conftest import DOMAINS, Decide, Provide, shop
from tests.app.buying.vendors import DROP_AFTER, EMPTY, Vendors, fails, late
from tests.app.clinic import Put

pytest_plugins = ["tests.app.conftest_http"]

ALL = ("firmo", "visits", "score")
PATIENCE_S = 20.0
Json = dict[str, Any]


def micros(amount: float) -> int:
    return round(amount * 1_000_000)


def get(client: TestClient, path: str) -> Any:
    response = client.get(path)
    assert response.status_code == 200, response.text
    return response.json()


def calls_of(client: TestClient, session: Json) -> dict[str, Json]:
    """Return the last call of each provider."""
    receipt = get(client, f"/predict/{session['id']}/receipt")
    return {call["provider"]: call for call in receipt["bought"] if call["provider"]}


def wait_until(is_so: Any) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.02)


def wait_for_end(client: TestClient, session: Json) -> Json:
    path = f"/predict/{session['id']}"
    wait_until(lambda: get(client, path)["run"]["state"] == "ended")
    ended: Json = get(client, path)
    return ended


def begin(client: TestClient, model: str, number: int = 20, **more: Any) -> Json:
    body = {"model": model, "budget": 1.0, "run": True}
    keys = {"domain": DOMAINS[number]}
    response = client.post("/predict", json=body | {"keys": keys} | more)
    assert response.status_code == 202, response.text
    session: Json = response.json()
    return session


@pytest.fixture
def model(put: Put) -> str:
    return put(shop(), "shop")


@pytest.fixture
def calling(
    buyer: object, client: TestClient, model: str, provide: Provide, vendors: Vendors
) -> Json:
    """A run whose first call is on its way, for a second."""
    del buyer
    provide(*ALL)
    vendors.script("visits", late(1.0))
    session = begin(client, model)
    wait_until(lambda: vendors.requests)
    return session


def test_a_paused_run_buys_nothing_until_it_goes_on(
    client: TestClient, calling: Json, vendors: Vendors
) -> None:
    paused = client.patch(f"/predict/{calling['id']}", json={"run": "paused"}).json()
    wait_until(lambda: get(client, f"/predict/{calling['id']}")["budget"]["spent"] > 0)
    time.sleep(0.5)
    n_requests = len(vendors.requests)
    client.patch(f"/predict/{calling['id']}", json={"run": "buying"})

    assert (paused["run"]["state"], n_requests) == ("paused", 1)
    ended = wait_for_end(client, calling)
    assert micros(ended["budget"]["spent"]) == sum(vendors.bill_by_case().values())


def test_a_person_answers_beside_a_run_but_not_what_it_is_buying(
    client: TestClient, calling: Json, vendors: Vendors
) -> None:
    path = f"/predict/{calling['id']}/answers"

    def answer(feature: str, value: float) -> Any:
        given = {"feature": feature, "outcome": "value", "value": value}
        return client.post(path, json={"answers": [given], "insist": True})

    refused, taken = answer("visits", 3), answer("score", 0.7)

    assert (refused.status_code, taken.status_code) == (409, 200)
    assert refused.json()["type"].endswith("being-bought")
    ended = wait_for_end(client, calling)
    assert "score" not in {request.vendor for request in vendors.requests}
    bill = sum(vendors.bill_by_case().values())
    assert micros(ended["budget"]["spent"]) == bill + 600_000


def test_a_run_that_is_stopped_writes_the_charge_of_the_call_on_its_way(
    client: TestClient, calling: Json, vendors: Vendors
) -> None:
    client.post(f"/predict/{calling['id']}/stop")

    ended = wait_for_end(client, calling)
    assert ended["state"] == "closed"
    assert micros(ended["budget"]["spent"]) == 1_000 == vendors.bill[0].micros
    receipt = get(client, f"/predict/{calling['id']}/receipt")
    assert [row["amount"] for row in receipt["ledger"]] == [0.001]
    assert len(vendors.requests) == 1


@pytest.mark.usefixtures("buyer")
def test_thirty_cases_at_once_pass_no_ceiling(
    client: TestClient, model: str, provide: Provide, vendors: Vendors
) -> None:
    provide("visits", "score")
    provide("firmo", ceilings={"day": 0.51}, at_once=30)

    sessions = [begin(client, model, number) for number in range(30)]
    ended = [wait_for_end(client, session) for session in sessions]

    assert vendors.bill_by_vendor()["firmo"] == 500_000
    spent = [micros(session["budget"]["spent"]) for session in ended]
    assert spent == [vendors.bill_by_case().get(name, 0) for name in DOMAINS]
    assert get(client, "/providers/firmo")["spent"] == 0.5


@pytest.mark.usefixtures("buyer")
def test_a_provider_is_called_no_more_often_than_it_says(
    client: TestClient, model: str, provide: Provide, vendors: Vendors
) -> None:
    provide("firmo", "score")
    provide("visits", per_second=10)
    began = time.monotonic()

    sessions = [begin(client, model, number) for number in range(10)]
    wait_until(lambda: sum(r.vendor == "visits" for r in vendors.requests) == 10)

    assert time.monotonic() - began >= 0.8
    for session in sessions:
        wait_for_end(client, session)


@pytest.mark.parametrize("status", [402, 429])
def test_a_provider_that_asks_to_wait_is_not_called_for_other_cases(
    decide: Decide, provide: Provide, vendors: Vendors, status: int
) -> None:
    provide(*ALL, "firmo2")
    vendors.script("firmo", fails(status, "60"))

    decide(DOMAINS[20])
    decide(DOMAINS[21])

    asked = Counter(request.vendor for request in vendors.requests)
    assert (asked["firmo"], asked["firmo2"]) == (1, 2)


def test_the_second_provider_is_not_called_where_the_first_has_answered(
    decide: Decide, provide: Provide, vendors: Vendors
) -> None:
    provide(*ALL, "firmo2")

    decide()

    assert "firmo2" not in {request.vendor for request in vendors.requests}


def test_a_case_without_a_key_goes_on_and_the_receipt_says_so(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient
) -> None:
    provide("visits", "score")
    url = vendors.url("firmo")
    request = {"method": "POST", "url": url, "json": {"domain": "{key.vat}"}}
    provide("firmo", request=request)

    session = decide()

    receipt = get(client, f"/predict/{session['id']}/receipt")
    assert receipt["left_out"] == {"firmo": "key vat is missing"}
    assert "firmo" not in {request.vendor for request in vendors.requests}


def test_a_feature_that_nobody_fills_is_refused_before_anything_is_stored(
    client: TestClient, model: str, provide: Provide
) -> None:
    provide("firmo", "visits")

    body = {"model": model, "budget": 1, "keys": {"domain": "x"}, "run": True}
    response = client.post("/predict", json=body)

    assert response.status_code == 422
    assert "known.score" in response.text
    assert get(client, "/predict")["items"] == []


def test_a_refused_value_is_paid_kept_out_and_told(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient
) -> None:
    answers = vendors.vendors["visits"].answers
    answers[DOMAINS[20]]["visits"] = -4
    provide(*ALL)

    session = decide()

    outcomes = {answer["feature"]: answer["outcome"] for answer in session["answers"]}
    assert outcomes["visits"] == "unknown"
    call = calls_of(client, session)["visits"]
    assert (call["state"], call["charged"]) == ("settled", 0.001)
    assert call["reason"].startswith("visits: must be")
    assert micros(session["budget"]["spent"]) == sum(vendors.bill_by_vendor().values())


def test_a_kept_answer_is_free_until_its_case_is_erased(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient
) -> None:
    provide(*ALL, cache_s=3600)
    first = decide()

    second = decide()
    client.delete(f"/predict/{first['id']}")
    third = decide()

    assert second["budget"]["spent"] == 0
    assert third["budget"]["spent"] == first["budget"]["spent"] > 0
    assert micros(2 * third["budget"]["spent"]) == sum(vendors.bill_by_case().values())


@pytest.mark.parametrize("is_erased", [True, False])
@pytest.mark.parametrize("was_charged", [True, False])
def test_an_operator_settles_a_call_in_doubt(
    decide: Decide,
    provide: Provide,
    vendors: Vendors,
    client: TestClient,
    was_charged: bool,
    is_erased: bool,
) -> None:
    provide(*ALL, timeout_s=0.5)
    vendors.script("score", DROP_AFTER)
    path = f"/predict/{decide()['id']}"
    [doubt] = get(client, "/calls?state=in_doubt")["items"]
    if is_erased:
        client.delete(path)
    address, body = f"/calls/{doubt['id']}/settle", {"charged": was_charged}

    response = client.post(address, json=body)

    assert response.status_code == 200, response.text
    assert response.json()["state"] == ("missed" if was_charged else "released")
    spent = get(client, path)["budget"]["spent"]
    assert spent == (0.651 if was_charged else 0.051)
    kinds = Counter(row["kind"] for row in get(client, f"{path}/ledger")["items"])
    assert kinds["reversal"] == (0 if was_charged else 1)
    assert client.post(address, json=body).status_code == 409


@pytest.mark.usefixtures("buyer")
def test_a_request_that_is_sent_again_starts_no_second_run(
    client: TestClient, model: str, provide: Provide, vendors: Vendors
) -> None:
    provide(*ALL)
    keys = {"domain": DOMAINS[20]}
    body = {"model": model, "budget": 1.0, "keys": keys, "run": True}
    headers = {"Idempotency-Key": "once", "Prefer": "wait=20"}

    sent = [client.post("/predict", json=body, headers=headers) for _ in range(2)]

    assert sent[1].headers["Idempotent-Replayed"] == "true"
    assert sent[0].json()["id"] == sent[1].json()["id"]
    assert max(Counter(r.vendor for r in vendors.requests).values()) == 1


def test_events_have_numbers_without_gaps_and_go_on_where_they_stopped(
    decide: Decide, provide: Provide, client: TestClient
) -> None:
    provide(*ALL)
    session = decide()
    path = f"/predict/{session['id']}/events"

    def numbers(last: int) -> list[int]:
        text = client.get(path, headers={"Last-Event-ID": str(last)}).text
        return [int(line[4:]) for line in text.splitlines() if line.startswith("id: ")]

    every = numbers(0)

    assert every == [*range(1, len(calls_of(client, session)) + 2)]
    assert numbers(2) == every[2:]
    ended = client.get(path, headers={"Last-Event-ID": str(every[-1])})
    assert ended.status_code == 204


def test_an_erased_case_has_no_receipt(
    decide: Decide, provide: Provide, client: TestClient
) -> None:
    provide(*ALL)
    session = decide()

    client.delete(f"/predict/{session['id']}")

    assert client.get(f"/predict/{session['id']}/receipt").status_code == 409
    missing = client.get(f"/predict/ses_{'0' * 24}/receipt")
    assert missing.status_code == 404


def test_an_empty_answer_of_one_case_stops_nobody(
    decide: Decide, provide: Provide, vendors: Vendors
) -> None:
    provide(*ALL)
    vendors.script("firmo", EMPTY, EMPTY, EMPTY)

    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(decide, DOMAINS[:4]))

    billed = vendors.bill_by_case()
    spent = [micros(session["budget"]["spent"]) for session in ended]
    assert spent == [billed[domain] for domain in DOMAINS[:4]]


def faults_of(engine: sa.Engine, receipt: Json) -> list[str]:
    """Return what `askless verify` says of a receipt."""
    with transaction(engine, DEFAULT_TENANT, is_read=True) as db:
        return check_receipt(receipt) or check_stored(db, receipt)


def test_a_receipt_of_which_anything_was_changed_is_noticed(
    decide: Decide, provide: Provide, client: TestClient, engine: sa.Engine
) -> None:
    provide(*ALL)
    receipt = get(client, f"/predict/{decide()['id']}/receipt")

    assert faults_of(engine, receipt) == []
    for name in receipt:
        changed = receipt | {name: "other"}
        assert faults_of(engine, changed), name
        if name != "hash":
            forged = changed | {"hash": digest_receipt(changed)}
            assert faults_of(engine, forged), name


def test_a_row_of_the_ledger_that_was_changed_is_noticed(
    decide: Decide, provide: Provide, client: TestClient, engine: sa.Engine
) -> None:
    """Triggers refuse it; whoever owns the database may drop them."""
    provide(*ALL)
    receipt = get(client, f"/predict/{decide()['id']}/receipt")

    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            off = sa.text("ALTER TABLE ledger DISABLE TRIGGER USER")
            connection.execute(off)
        else:
            named = sa.text("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            for name in connection.scalars(named).all():
                connection.execute(sa.text(f'DROP TRIGGER "{name}"'))
        connection.execute(sa.text("UPDATE ledger SET amount = amount + 1"))

    assert faults_of(engine, receipt) == [
        f"ledger {receipt['ledger'][0]['id']}: is not what was written"
    ]
    with transaction(engine, DEFAULT_TENANT, is_read=True) as db:
        assert len([*check_ledger(db)]) == 1


@pytest.mark.usefixtures("buyer")
def test_a_provider_has_no_more_calls_at_once_than_it_says(
    client: TestClient, model: str, provide: Provide, vendors: Vendors
) -> None:
    provide("firmo", "score")
    provide("visits", at_once=2)
    vendors.vendors["visits"].latency_s = 0.3
    began = time.monotonic()

    for number in range(8):
        begin(client, model, number)
    wait_until(lambda: sum(r.vendor == "visits" for r in vendors.requests) == 8)

    # Three pairs have ended before the last one has begun.
    assert time.monotonic() - began >= 0.9


def test_a_session_of_a_person_has_a_receipt_too(
    client: TestClient, model: str
) -> None:
    session = client.post("/predict", json={"model": model, "budget": 1}).json()
    given = {"feature": "visits", "outcome": "value", "value": 3}
    client.post(f"/predict/{session['id']}/answers", json={"answers": [given]})

    receipt = get(client, f"/predict/{session['id']}/receipt")

    [bought] = receipt["bought"]
    assert (bought["provider"], bought["charged"]) == (None, 0.001)
    assert check_receipt(receipt) == []
