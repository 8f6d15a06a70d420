"""Answers that can't change the prediction: charged only where the caller insists."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.app.clinic import Answer, Json, Put, Start, ageless, said
from tests.app.test_http_problems import assert_problem

pytest_plugins = ["tests.app.conftest_http"]

SECRET = "SECRET"


@pytest.fixture
def session(start: Start, put: Put) -> Json:
    """A session that asks for sex."""
    return start(60.0, model=put(ageless(), "ageless"), stop={"certain": False})


def send(
    client: TestClient,
    session: Json,
    *given: tuple[str, Any],
    path: str = "",
    **more: Any,
) -> Any:
    body = {"answers": [said(*value) for value in given], **more}
    return client.post(f"/predict/{session['id']}/answers{path}", json=body)


@pytest.mark.parametrize("path", ["", "/check"])
@pytest.mark.parametrize("value", [63, "ordered"])
def test_useless_answer_is_refused_by_feature_and_price(
    client: TestClient, session: Json, path: str, value: Any
) -> None:
    response = send(client, session, ("age", value), path=path)

    problem = assert_problem(response, 409, "useless-answer")
    assert (problem["feature"], problem["price"]) == ("age", 1.0)
    assert client.get(f"/predict/{session['id']}").json() == session


def test_none_of_its_request_is_taken_or_echoed(
    client: TestClient, session: Json
) -> None:
    given = ("sex", SECRET), ("age", 4711.25)
    refused = send(client, session, *given, accept_unseen=True)

    assert_problem(refused, 409, "useless-answer")
    assert "4711" not in refused.text
    assert client.get(f"/predict/{session['id']}/ledger").json()["items"] == []


def test_it_is_charged_where_one_insists(client: TestClient, session: Json) -> None:
    checked = send(client, session, ("age", 63), path="/check", insist=True).json()
    after = send(client, session, ("age", 63), insist=True).json()

    assert checked["total"] == 1.0
    assert after["budget"]["spent"] == 1.0
    assert after["question"]["feature"] == "sex"


def test_one_that_was_charged_is_sent_again_and_corrected_without_insisting(
    client: TestClient, session: Json
) -> None:
    first = send(client, session, ("age", 63), insist=True).json()

    again = send(client, session, ("age", 63)).json()
    corrected = send(client, session, ("age", 64)).json()

    assert again == first
    assert corrected["budget"]["spent"] == 1.0


def test_what_is_asked_or_read_or_charges_nothing_is_taken(
    session: Json, answer: Answer
) -> None:
    given = [("age", "unavailable"), ("age", "refused"), ("age", "unknown")]
    for pair in (*given, ("chol", 240), ("sex", "male")):
        assert answer(session, pair).status_code == 200, pair


@pytest.mark.parametrize("insist", [1, "yes", None, SECRET])
def test_insist_is_true_or_false(
    client: TestClient, session: Json, insist: Any
) -> None:
    response = send(client, session, ("age", 63), insist=insist)

    problem = assert_problem(response, 422, "invalid-request")
    assert [error["field"] for error in problem["errors"]] == ["insist"]
