"""Pages propose what is worth spending, and say what the rest would cost and gain."""

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient

from askless.app.documents.model.model import model_to_json
from tests.pages.site import post
from tests.worthwhile import WORTH, model_of


def text_of(client: TestClient, path: str) -> str:
    page = client.get(path)
    assert page.status_code == 200, page.text
    return " ".join(unescape(re.sub("<[^>]*>", "", page.text)).split())


@pytest.fixture
def model_id(client: TestClient) -> str:
    return str(client.post("/models", json=model_to_json(model_of())).json()["id"])


def begin(client: TestClient, model_id: str, **stop: object) -> str:
    """Start a case with a budget of 3, answer its first question, return its page."""
    wish = {"model": model_id, "budget": 3, "stop": {"certain": False} | stop}
    id = client.post("/predict", json=wish).json()["id"]
    answer = {"feature": "f0", "outcome": "value", "value": 1}
    client.post(f"/predict/{id}/answers", json={"answers": [answer]})
    return f"/ui/sessions/{id}"


def test_start_page_proposes_the_worthwhile_part(
    client: TestClient, model_id: str
) -> None:
    path = f"/ui/sessions/new?model={model_id}"

    page = client.get(path).text

    assert re.search('name="budget"[^>]* value="1"', page)
    assert WORTH[1:] in text_of(client, path)
    assert WORTH in text_of(client, f"/ui/models/{model_id}")


def test_plan_page_shows_what_a_session_does(client: TestClient, model_id: str) -> None:
    page = text_of(client, f"/ui/models/{model_id}/plan?budget=3")

    assert "1. f0" in page
    assert "f1" not in page
    assert "it decided 30 % wrongly" in page


def test_pages_of_a_case_name_the_step_and_its_price(
    client: TestClient, model_id: str
) -> None:
    here = begin(client, model_id)

    words = (
        "going on is not worth it: 2.00 more, for at most 1 error fewer in 100 cases"
    )
    assert client.get(here).headers["location"] == f"{here}/result"
    assert f"We suggest stopping: {words}." in text_of(client, f"{here}/result")
    assert "Up to one more question." in text_of(client, f"{here}?on=1")


@pytest.mark.parametrize(("spend", "most"), [("worthwhile", "1"), ("all", "2")])
def test_form_says_what_a_case_spends(
    client: TestClient, model_id: str, spend: str, most: str
) -> None:
    form = {"model": model_id, "limit": "some", "budget": "3", "spend": spend}
    made = post(client, "/ui/sessions/new", **form)

    page = text_of(client, made.headers["location"])

    assert re.search(rf"\b{most} more questions?\.", page)
    assert "not worth it" not in page
