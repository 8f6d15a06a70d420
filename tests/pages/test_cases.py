"""Cases by hand: started, asked, answered, corrected, stopped; and what is refused."""

import copy
import re
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Page, expect

from askless.app.documents.files import read_model
from askless.app.pages.cases.asking import list_alternatives
from askless.app.pages.plumbing import filters
from tests.pages.site import Site, heart, post

HOSTILE = "<script>alert(1)</script> \"q\" 'q' مستوى " + "x" * 100


@pytest.fixture
def client(client: TestClient) -> TestClient:
    client.follow_redirects = True
    return client


def start(client: TestClient, model_id: str, **more: Any) -> dict[str, Any]:
    body = {"model": model_id, "budget": 60, **more}
    made: dict[str, Any] = client.post("/predict", json=body).json()
    return made


def state_of(client: TestClient, session: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/predict/{session['id']}").json()
    return found


def answer(client: TestClient, session: dict[str, Any], **fields: Any) -> Any:
    form = {"version": session["version"], "outcome": "value", **fields}
    return post(client, f"/ui/sessions/{session['id']}/answers", **form)


def test_a_session_is_started_with_what_is_known(
    client: TestClient, model_id: str
) -> None:
    form = {"model": model_id, "limit": "some", "budget": "60.5", "known.age": "63"}
    page = post(client, "/ui/sessions/new", **form, client_ref=HOSTILE)

    found = client.get(f"/predict/{str(page.url).rpartition('/')[2]}").json()
    assert found["budget"]["limit"] == 60.5
    assert [answer["value"] for answer in found["answers"]] == [63]
    assert found["client_ref"] == HOSTILE
    listed = client.get("/ui/sessions", params={"client_ref": HOSTILE}).text
    for text in (page.text, listed):
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text


def test_the_list_says_why_it_is_empty(client: TestClient) -> None:
    fresh, sought = (
        client.get("/ui/sessions", params={"client_ref": one}).text for one in ("", "x")
    )

    assert "There is no session yet." in fresh
    assert "No session is like this." in sought


@pytest.mark.parametrize(
    ("field", "typed"),
    [
        ("known.age", "old"),
        ("client_ref", "x" * 201),
        ("confidence", "101"),
        ("explore", "51"),
    ],
)
def test_a_wrong_field_is_named_and_what_was_typed_stays(
    client: TestClient, model_id: str, field: str, typed: str
) -> None:
    form = {"model": model_id, "limit": "some", "budget": "60", "known.sex": "male"}
    page = post(client, "/ui/sessions/new", **{**form, field: typed})

    assert page.status_code == 422
    assert f'href="#f-{filters.to_html_id(field)}"' in page.text
    assert '<option value="male" selected>' in page.text
    assert client.get("/predict").json()["items"] == []


def test_an_odd_value_is_asked_about_before_it_is_charged(
    client: TestClient, model_id: str
) -> None:
    session = start(client, model_id)
    odd = {"feature": "chol", "value.chol": "5000"}
    page = answer(client, session, **odd)

    assert page.status_code == 422
    assert "126 mg/dL to 564 mg/dL" in page.text
    assert state_of(client, session)["budget"]["spent"] == 0
    confirmed = re.search(r'name="confirmed" value="([^"]+)"', page.text)
    assert confirmed is not None
    sure = confirmed[1].replace("&#34;", '"')
    other = answer(client, session, **{**odd, "value.chol": "9000"}, confirmed=sure)
    assert other.status_code == 422
    assert answer(client, session, **odd, confirmed=sure).status_code == 200
    assert state_of(client, session)["budget"]["spent"] == 7.27


@pytest.mark.parametrize("text", ["many", "1e999"])
def test_a_wrong_answer_is_refused_at_its_field(
    client: TestClient, model_id: str, text: str
) -> None:
    session = start(client, model_id)
    page = answer(client, session, **{"feature": "chol", "value.chol": text})

    assert page.status_code == 422
    assert 'id="f-value_2e_chol-error"' in page.text
    assert state_of(client, session)["version"] == session["version"]


def test_an_old_form_changes_nothing_and_the_same_twice_charges_once(
    client: TestClient, model_id: str
) -> None:
    session = start(client, model_id)
    given = {"feature": "chol", "value.chol": "233"}
    pages = [answer(client, session, **given) for _ in range(2)]
    stale = answer(client, session, **{"feature": "chol", "value.chol": "240"})

    assert [page.status_code for page in (*pages, stale)] == [200, 200, 409]
    assert "out of date" in stale.text
    found = state_of(client, session)
    assert (found["budget"]["spent"], found["answers"][0]["value"]) == (7.27, 233)


def test_what_costs_too_much_is_said_and_the_budget_is_raised(
    client: TestClient, model_id: str
) -> None:
    session = start(client, model_id)
    dear = {"feature": "ca", "value.ca": "1"}
    refused = answer(client, session, **dear)
    address = f"/ui/sessions/{session['id']}/terms"
    wrong = [
        post(client, address, version=session["version"], budget=typed).status_code
        for typed in ("many", "nan", "")
    ]
    post(client, address, version=session["version"], budget="200")

    assert [refused.status_code, *wrong] == [422] * 4
    assert "100.90 CAD, and 60.00 CAD" in refused.text
    assert state_of(client, session)["budget"]["limit"] == 200
    answer(client, state_of(client, session), **dear)
    assert state_of(client, session)["budget"]["spent"] == 100.9


def bundled() -> dict[str, Any]:
    """Return the model with its blood draw sold whole."""
    made = copy.deepcopy(heart())
    for group in made["groups"]:
        if group["name"] == "blood":
            group.update(fee_micros=0, price_micros=8_000_000)
    for feature in made["features"]:
        if feature["group"] == "blood":
            feature["cost_micros"] = 0
    return made


def test_of_a_bundle_what_is_left_empty_is_to_come(client: TestClient) -> None:
    session = start(client, client.post("/models", json=bundled()).json()["id"])
    here = f"/ui/sessions/{session['id']}?feature=chol"
    page = client.get(here).text
    both = {"feature": ["chol", "fbs"], "value.chol": "233", "value.fbs": ""}
    assert answer(client, session, **both).status_code == 200

    found = state_of(client, session)
    assert "buys all of" in page
    assert (found["budget"]["spent"], found["pending"]) == (8, ["fbs"])
    answer(client, found, feature="fbs", **{"value.fbs": "no"})
    found = state_of(client, session)
    assert (found["budget"]["spent"], found["pending"]) == (8, [])


@pytest.mark.parametrize(
    ("asked", "others", "best"),
    [
        ("chol", ["fbs", "age", "sex", "cp"], ["age", "sex"]),
        ("age", ["fbs", "chol", "sex"], ["fbs", "sex"]),
        ("age", [], []),
    ],
)
def test_next_best_are_other_purchases(
    asked: str, others: list[str], best: list[str]
) -> None:
    """What is bought with the question, or with what stands before it, is none."""
    alternatives = [SimpleNamespace(feature=other) for other in others]
    question = SimpleNamespace(feature=asked, alternatives=alternatives)
    catalogue = read_model(bundled()).ensemble.catalogue

    found = list_alternatives(catalogue, SimpleNamespace(question=question))

    assert [question.feature for question in found] == best


def test_a_question_weighs_little(client: TestClient, model_id: str) -> None:
    session = start(client, model_id, known={"age": 63, "sex": "male"})
    answer(client, session, **{"feature": "chol", "value.chol": "233"})
    page = client.get(f"/ui/sessions/{session['id']}")
    files = re.findall(r'"(/ui/static/[^"]+)"', page.text)

    loaded = [page, *(client.get(file) for file in files)]
    assert sum(len(page.content) for page in loaded) <= 60_000


def test_the_words_follow_the_slider(page: Page, site: Site) -> None:
    page.goto(f"/ui/sessions/new?model={site.model_id}")
    page.get_by_label("Budget on the curve").press("Home")

    expect(page.get_by_label("Budget", exact=True)).to_have_value("0")
    expect(page.get_by_role("status")).to_contain_text("At 0 CAD: 46 % error, 0 tests")
    expect(page.locator(".here")).to_have_attribute("data-place", "0")
    page.get_by_label("Budget on the curve").press("End")
    expect(page.get_by_label("No limit")).to_be_checked()
    expect(page.get_by_role("status")).to_contain_text("At no limit: 17 % error")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_slider_lies_below_the_dots_of_the_curve(
    page: Page, site: Site, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"/ui/sessions/new?model={site.model_id}")
    slider = page.locator("#slider").bounding_box()
    centres = page.locator("[data-place]").evaluate_all(
        "all => all.map((it) => it.getBoundingClientRect())"
        ".map((box) => box.x + box.width / 2)"
    )

    assert slider is not None
    # The thumb is 16 px wide, and its middle is what it points at.
    step = (slider["width"] - 16) / (len(centres) - 1)
    middles = [slider["x"] + 8 + step * place for place in range(len(centres))]
    assert centres == pytest.approx(middles, abs=2)


def test_the_fee_of_a_reversed_charge_is_in_the_next_one(
    client: TestClient, model_id: str
) -> None:
    session = start(client, model_id, stop={"certain": False})
    here = f"/predict/{session['id']}"
    for feature, value in (("chol", 240), ("fbs", False)):
        given = {"feature": feature, "outcome": "value", "value": value}
        # The model has no use for fbs.
        body = {"answers": [given], "insist": True}
        client.post(f"{here}/answers", json=body)
        if feature == "chol":
            entry = client.get(f"{here}/ledger").json()["items"][0]["id"]
            client.post(f"/ledger/{entry}/reverse", json={"reason": "spilt"})

    page = client.get(f"/ui/sessions/{session['id']}/result").text

    bill = page.split("oldest first</caption>")[1].partition("</table>")[0]
    assert bill.count("with 2.10 CAD for") == 2
    assert bill.count("given back") == 1
    address = re.findall(r'href="(/ui/[^"]+)">Download as JSON', page)[0]
    assert client.get(address).json() == state_of(client, session)


def test_result_says_whether_other_cases_had_answers_that_this_one_lacks(
    client: TestClient, model_id: str
) -> None:
    session = client.post("/predict", json={"model": model_id, "budget": 60}).json()
    path, page = f"/predict/{session['id']}", f"/ui/sessions/{session['id']}/result"
    body = {
        "answers": [{"feature": session["question"]["feature"], "outcome": "refused"}]
    }
    sentence = "These cases had every answer; this one lacks some."

    before = client.get(page).text
    assert client.post(f"{path}/answers", json=body).status_code == 200

    assert "What more budget would change" in before
    assert sentence not in before
    assert sentence in client.get(page).text
