"""What a case says of prices, of questions left, of its buttons, and at its end."""

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Page, expect

from tests.pages.site import Site, post
from tests.pages.test_cases import bundled
from tests.pages.test_labels import begin, text_of


def show(client: TestClient, session: dict[str, Any], end: str = "") -> str:
    return str(client.get(f"/ui/sessions/{session['id']}{end}").text)


def test_a_price_beyond_the_budget_says_what_is_missing_before_any_answer(
    client: TestClient, model_id: str
) -> None:
    session = begin(client, model_id, budget=60)
    dear = show(client, session, "?feature=ca")
    payable = show(client, begin(client, model_id), "?feature=ca")

    assert "Costs 100.90 CAD , 40.90 CAD more than is left" in text_of(dear)
    assert re.search(r'<details id="budget" open>', dear)
    assert "more than is left" not in payable
    assert re.search(r'<details id="budget">', payable)


@pytest.mark.parametrize("terms", [{}, {"stop": {"certain": False}}])
def test_one_page_counts_the_questions_that_are_left_once(
    client: TestClient, model_id: str, terms: dict[str, Any]
) -> None:
    session = begin(client, model_id, **terms)
    least, most = session["question"]["worth"]["questions_left"]
    span = str(most) if least == most else f"{least} to {most}"

    shown = text_of(show(client, session))

    assert f"{span} more question" in shown
    assert "Up to" not in shown


def test_an_agreed_number_of_questions_is_the_bound(
    client: TestClient, model_id: str
) -> None:
    session = begin(client, model_id, stop={"max_questions": 1})

    assert "Up to one more question." in text_of(show(client, session))


def test_a_question_is_asked_once_and_its_field_keeps_its_name(
    client: TestClient, model_id: str
) -> None:
    session = begin(client, model_id)
    page = show(client, session, "?feature=age")
    choices = show(client, session, "?feature=cp")

    assert re.search('<label for="[^"]+" class="unseen">.*Age', page)
    assert re.search('<legend class="unseen">.*Type of chest pain', choices)


def test_each_field_of_a_bundle_shows_its_name(client: TestClient) -> None:
    model = client.post("/models", json=bundled()).json()["id"]
    page = show(client, begin(client, model, budget=60), "?feature=chol")

    fields = page.partition('/answers"')[2].partition("</form>")[0]
    assert fields.count('name="value.') > 1
    assert "<legend>" in fields
    assert '<legend class="unseen">' not in fields
    assert not re.search('<label for="[^"]+" class="unseen">', fields)


def test_buttons_are_explained_without_a_word_of_tables(
    client: TestClient, model_id: str
) -> None:
    shown = text_of(show(client, begin(client, model_id)))

    assert "Refused : somebody does not want it." in shown
    assert "table" not in shown.partition("If there is no result")[2][:500]


def test_a_case_that_should_end_shows_its_result_and_goes_on_if_asked(
    client: TestClient, model_id: str
) -> None:
    session = begin(client, model_id, known={"age": 63}, stop={"max_questions": 1})
    id, asked = session["id"], session["question"]
    given = {"feature": asked["feature"], "outcome": "refused"}
    client.post(f"/predict/{id}/answers", json={"answers": [given]})

    first = client.get(f"/ui/sessions/{id}")
    result = show(client, session, "/result")
    on = show(client, session, "?on=1")

    assert first.headers["location"] == f"/ui/sessions/{id}/result"
    for button in ("Stop here", "Go on all the same", "Correct an answer"):
        assert button in result
    assert "Answers so far" in on


def test_a_late_answer_to_a_case_that_ended_shows_the_result_with_a_notice(
    client: TestClient, model_id: str
) -> None:
    session = begin(client, model_id)
    client.post(f"/predict/{session['id']}/stop")
    form = {"feature": "age", "value.age": "63", "outcome": "value", "version": "1"}
    late = post(client, f"/ui/sessions/{session['id']}/answers", **form)

    assert late.status_code == 409
    assert "Nothing was taken or charged." in text_of(late.text)
    assert "The bill" in late.text
    assert "autofocus" not in late.text


def test_a_record_of_the_outcome_keeps_its_place_and_not_the_focus_of_the_head(
    page: Page, site: Site
) -> None:
    session = site.start(300, stop={"certain": False})
    site.call("POST", f"/predict/{session['id']}/stop", {})
    page.goto(f"/ui/sessions/{session['id']}")
    head = page.get_by_role("heading", level=1)
    expect(head).to_be_focused()
    page.get_by_label("Confirmed class").select_option("1")
    page.get_by_role("button", name="Record it").click()
    expect(page.get_by_role("button", name="Correct it")).to_be_visible()
    expect(head).not_to_be_focused()
