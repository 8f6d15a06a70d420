"""The page of a question: its choices, its keys, why it is asked, what to trust."""

import re
from typing import Any

from fastapi.testclient import TestClient
from playwright.sync_api import Page, expect

from tests.pages.site import Site, heart, token_of

PHONE = {"width": 390, "height": 800}


def show(client: TestClient, model_id: str, place: str = "", **terms: Any) -> str:
    """Return the page of a new session; `place` is the end of its address."""
    body = {"model": model_id, "budget": 300, **terms}
    session = client.post("/predict", json=body).json()
    return client.get(f"/ui/sessions/{session['id']}{place}").text


def without_curve() -> dict[str, Any]:
    return {key: item for key, item in heart().items() if key != "curve"}


def test_up_to_six_answers_are_choices_and_more_are_a_list(client: TestClient) -> None:
    document = heart()
    features = [
        feature | {"categories": [f"kind {number}" for number in range(7)]}
        if feature["name"] == "thal"
        else feature
        for feature in document["features"]
    ]
    made = client.post(
        "/models?as_version=true", json=document | {"features": features}
    )
    few = show(client, made.json()["id"], "?feature=cp")
    many = show(client, made.json()["id"], "?feature=thal")

    assert few.count('type="radio" name="value.cp"') == 4
    assert "<select id=" not in few.partition('id="another"')[0]
    assert 'name="value.thal"' in many.partition("<select")[2]
    assert 'type="radio" name="value.thal"' not in many


def test_range_of_a_question_holds_the_chance_of_now(
    client: TestClient, model_id: str
) -> None:
    page = show(client, model_id)

    found = re.search(r"from (\d+) % to between (\d+) % and (\d+) %", page)
    assert found is not None
    now, low, high = map(int, found.groups())
    assert low <= now <= high


def test_a_question_at_random_is_marked_and_says_why(
    client: TestClient, model_id: str
) -> None:
    pages = [show(client, model_id, explore=0.5, seed=seed) for seed in range(8)]

    marked = [page for page in pages if "This question was drawn at random." in page]
    assert 0 < len(marked) < len(pages)
    for page in pages:
        assert ("not chosen for this case" in page) == (page in marked)


def test_price_above_the_rest_of_the_budget_has_no_picture(
    client: TestClient, model_id: str
) -> None:
    dear = show(client, model_id, "?feature=ca", budget=60)
    payable = show(client, model_id, "?feature=ca", budget=300)

    assert "What would it change?" in payable
    assert "What would it change?" not in dear


def test_reliability_is_told_only_where_it_was_measured(
    client: TestClient, model_id: str
) -> None:
    bare = client.post("/models?as_version=true", json=without_curve()).json()["id"]

    assert "The model was wrong in " in show(client, model_id)
    assert "The model was wrong in " not in show(client, bare)


def test_positive_class_stays_on_top_whatever_is_predicted(
    client: TestClient, model_id: str
) -> None:
    known = {"cp": "asymptomatic", "thal": "reversable defect"}
    for page in (show(client, model_id), show(client, model_id, known=known)):
        bars = re.findall(r'class="bar-label">.*?>([^<]+)</', page)
        assert bars[:2] == ["disease", "no disease"]


def test_correction_is_prefilled_and_may_be_taken_back_to_refused(
    client: TestClient, model_id: str
) -> None:
    session = client.post("/predict", json={"model": model_id, "budget": 60}).json()
    here = f"/ui/sessions/{session['id']}"
    asked = session["question"]["feature"]
    values = {"cp": "asymptomatic"}
    given = {
        "answers": [{"feature": asked, "outcome": "value", "value": values[asked]}]
    }
    answered = client.post(f"/predict/{session['id']}/answers", json=given).json()
    page = client.get(f"{here}?feature={asked}").text
    form = {
        "form_token": token_of(page),
        "version": str(answered["version"]),
        "feature": asked,
        f"value.{asked}": "asymptomatic",
        "outcome": "refused",
    }
    sent = client.post(f"{here}/answers", data=form)
    after = client.get(f"/predict/{session['id']}").json()

    assert 'value="asymptomatic" checked' in page
    assert "A correction costs nothing" in page
    assert sent.status_code == 303
    assert [answer["outcome"] for answer in after["answers"]] == ["refused"]
    # What was paid stays paid.
    assert after["budget"]["spent"] == answered["budget"]["spent"]


def test_case_is_worked_through_by_keys_alone(page: Page, site: Site) -> None:
    page.goto(f"/ui/sessions/{site.start(30.0)['id']}")
    head = page.get_by_role("heading", level=1)
    n_keys = 0
    while head.inner_text().startswith("Ask: "):
        before = head.inner_text()
        kind = page.evaluate("document.activeElement.type")
        if kind == "radio":
            typed = "1"
        else:
            hint = page.locator(".field .hint").first.inner_text()
            typed = re.findall(r"\d+", hint)[0]
        page.keyboard.type(typed)
        page.keyboard.press("Enter")
        n_keys += len(typed) + 1
        expect(head).not_to_have_text(before)

    # One page has the end, and the focus is on what is predicted.
    assert page.url.endswith("/result")
    expect(head).to_be_focused()
    expect(page).to_have_title(re.compile("Result|Prediction so far"))
    assert n_keys < 40


def test_digit_beyond_the_choices_chooses_nothing(page: Page, site: Site) -> None:
    page.goto(f"/ui/sessions/{site.start()['id']}?feature=cp")
    page.keyboard.press("9")
    expect(page.locator("input:checked[type=radio]")).to_have_count(0)
    page.keyboard.press("2")
    expect(page.locator("[name='value.cp']:checked")).to_have_value("atypical ang")


def test_line_with_prediction_and_budget_stays_in_sight_on_a_phone(
    page: Page, site: Site
) -> None:
    page.goto(f"/ui/sessions/{site.start()['id']}")
    strip = page.locator(".strip")
    expect(strip).to_be_hidden()
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]  # as it wants it
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(strip).to_be_in_viewport()
    expect(strip).to_contain_text("0.00 of 60.00 CAD")
