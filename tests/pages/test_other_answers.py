"""Other answers than the one asked for: offered where they are of use, else said so."""

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from askless.app.words.wording import MOST_NAMED, describe_useless
from tests.app.clinic import ageless, clinic, many, model_json
from tests.pages.test_cases import answer, start, state_of
from tests.pages.visits import Form, Html

USELESS = (
    "This answer can&#39;t be used: nothing that the model asks depends on it. It was "
    "not charged."
)
AGAIN = "Charge it all the same"
OTHER = "Answer another feature"
GO_ON = "Go on all the same"


@pytest.fixture
def client(client: TestClient) -> TestClient:
    client.follow_redirects = True
    return client


@pytest.fixture
def session(client: TestClient) -> dict[str, Any]:
    """A session that asks for sex and could use cholesterol, and nothing else."""
    return begin(client, ageless())


def begin(client: TestClient, ensemble: Any, **more: Any) -> dict[str, Any]:
    model = client.post("/models", json=model_json(ensemble, "m")).json()
    return start(client, model["id"], **{"stop": {"certain": False}, **more})


def show(client: TestClient, session: dict[str, Any], more: str = "") -> str:
    return str(client.get(f"/ui/sessions/{session['id']}{more}").text)


def offered(text: str) -> list[str]:
    """Return the features that a page offers beside the one that it asks for."""
    found = re.search(r'<select id="other-feature".*?</select>', text, re.DOTALL)
    return re.findall(r'<option value="(\w+)"', found[0]) if found else []


def answers_form(text: str) -> Form:
    """Return the form that answers, as if each of its buttons were a field."""
    forms = Html(text).forms
    form = next(each for each in forms if each.action.endswith("/answers"))
    for name, value in form.buttons.values():
        form.fields.setdefault(name, value)
    return form


def press_again(client: TestClient, page: Any, **typed: str) -> Any:
    """Press the second button as a browser without JavaScript does."""
    form = answers_form(page.text)
    fields = {**form.fields, **typed}
    return client.post(form.action, data=fields | {"outcome": ""})


def test_useless_answer_is_said_to_be_one_and_charged_by_a_second_button_alone(
    client: TestClient, session: dict[str, Any]
) -> None:
    page = answer(client, session, **{"feature": "age", "value.age": "63"})
    before = state_of(client, session)
    done = press_again(client, page)

    assert page.status_code == 422
    assert USELESS in page.text
    assert AGAIN in page.text
    assert 'value="63"' in page.text
    assert before == session
    assert done.status_code == 200
    assert USELESS not in done.text
    after = state_of(client, session)
    assert (after["budget"]["spent"], after["answers"][0]["value"]) == (1.0, 63)


def test_odd_useless_answer_is_charged_once_both_are_confirmed(
    client: TestClient,
) -> None:
    ensemble = ageless()
    raw = model_json(ensemble, "m")
    raw["features"][0]["value_range"] = [29.0, 77.0]
    model = client.post("/models", json=raw).json()
    session = start(client, model["id"], stop={"certain": False})
    useless = answer(client, session, **{"feature": "age", "value.age": "630"})

    odd = press_again(client, useless)
    form = answers_form(odd.text)

    assert "Is this right?" in odd.text
    assert "outcome" not in form.fields or form.fields["outcome"] != "value"
    client.post(form.action, data=form.fields | {"outcome": ""})
    assert state_of(client, session)["budget"]["spent"] == 1.0


def test_answer_that_is_of_use_has_no_second_button(
    client: TestClient, session: dict[str, Any]
) -> None:
    dear = answer(client, session, **{"feature": "chol", "value.chol": "many"})
    taken = answer(client, session, **{"feature": "chol", "value.chol": "240"})

    assert AGAIN not in dear.text
    assert (taken.status_code, AGAIN in taken.text) == (200, False)


def test_only_what_is_of_use_is_offered_and_the_rest_is_said(
    client: TestClient, session: dict[str, Any]
) -> None:
    text = show(client, session)

    assert offered(text) == ["chol"]
    assert "Nothing that the model asks depends on Age, fbs" in text
    assert "so they can&#39;t be used" in text


def test_of_many_useless_features_the_number_is_said() -> None:
    features = clinic().catalogue.features
    assert len(features) > MOST_NAMED

    assert describe_useless([]) == ""
    assert "on 7 other features, so" in describe_useless(features)
    assert "on Age, so it can't" in describe_useless(features[:1])


def test_nothing_is_offered_where_nothing_is_affordable(client: TestClient) -> None:
    session = begin(client, many(2), budget=1)
    answer(client, session, **{"feature": "f0", "value.f0": "1"})

    text, result = (show(client, session, more) for more in ("", "/result"))

    assert state_of(client, session)["stop_reason"] == "budget_exhausted"
    for page in (text, result):
        assert OTHER not in page
        assert GO_ON not in page
        assert "nothing is left of the budget" in page


def test_too_dear_answer_leads_to_another_only_where_there_is_one(
    client: TestClient,
) -> None:
    session = begin(client, clinic(), budget=0.6)
    dear = {"feature": "age", "value.age": "63"}

    refused = answer(client, session, **dear).text
    client.patch(f"/predict/{session['id']}", json={"budget": 0.1})
    alone = answer(client, state_of(client, session), **dear).text

    assert "Raise the budget below, or answer another feature." in refused
    assert "Raise the budget below." in alone


def test_chosen_feature_leads_back_to_what_is_asked_where_something_is(
    client: TestClient, session: dict[str, Any]
) -> None:
    asking = show(client, session, "?feature=chol")
    client.patch(f"/predict/{session['id']}", json={"budget": 0.1})
    waiting = show(client, session, "?feature=sex")

    assert "Back to what is asked" in asking
    assert "Back to the case" in waiting


def test_volunteered_answer_is_taken_where_nothing_is_asked(client: TestClient) -> None:
    session = stuck(client)

    text, result = (show(client, session, more) for more in ("?on=1", "/result"))

    assert session["question"] is None
    assert session["stop_reason"] == "plan_complete"
    assert offered(text) == ["sex"]
    assert '<details id="another" open>' in text
    assert "#another" in result
    for page in (text, result):
        assert "would be bought next costs more than the remaining 0.60" in page
        assert GO_ON not in page
    taken = answer(client, session, **{"feature": "sex", "value.sex": "male"})
    assert taken.status_code == 200
    assert state_of(client, session)["budget"]["spent"] == 0.5


def stuck(client: TestClient) -> dict[str, Any]:
    """A session whose next vote is too dear, with another that could be paid."""
    return begin(client, clinic(), budget=0.6)
