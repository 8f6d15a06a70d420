"""People read labels of categories and of the target; programs send names."""

import re
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient

from askless.app.documents.model.model import model_from_json
from askless.app.words.plan_words import describe_answers
from askless.core.catalogue.catalogue import Feature
from askless.core.session.plans.flow import FlowAnswers
from tests.pages.site import heart, post
from tests.pages.test_cases import bundled

PAIN = "Atypical angina"


def text_of(page: str) -> str:
    """Return what a person reads of a page."""
    shown = page.partition("<main")[2].partition("</main>")[0]
    return " ".join(unescape(re.sub("<[^>]*>", " ", shown)).split())


def begin(client: TestClient, model_id: str, **more: Any) -> dict[str, Any]:
    body = {"model": model_id, "budget": 300, **more}
    made: dict[str, Any] = client.post("/predict", json=body).json()
    return made


def give(client: TestClient, session: dict[str, Any], **fields: Any) -> Any:
    form = {"version": session["version"], "outcome": "value", "feature": "cp"}
    return post(client, f"/ui/sessions/{session['id']}/answers", **form | fields)


@pytest.fixture
def answered(client: TestClient, model_id: str) -> dict[str, Any]:
    session = begin(client, model_id)
    give(client, session, **{"value.cp": "atypical ang"})
    taken: dict[str, Any] = client.get(f"/predict/{session['id']}").json()
    return taken


def test_a_question_shows_labels_and_sends_names(
    client: TestClient, model_id: str
) -> None:
    session = begin(client, model_id)
    page = client.get(f"/ui/sessions/{session['id']}?feature=cp").text

    assert f'value="atypical ang"> <span>{PAIN}' in page
    assert "atypical ang" not in text_of(page)


@pytest.mark.parametrize("end", ["?on=1", "/result", "/receipt"])
def test_no_page_of_a_case_shows_a_name_where_there_is_a_label(
    client: TestClient, answered: dict[str, Any], end: str
) -> None:
    shown = text_of(client.get(f"/ui/sessions/{answered['id']}{end}").text)

    assert PAIN in shown
    assert "atypical ang" not in shown


def test_what_is_predicted_has_its_label(
    client: TestClient, model_id: str, answered: dict[str, Any]
) -> None:
    for path in (
        f"/ui/sessions/{answered['id']}/result",
        "/ui/sessions/new",
        f"/ui/models/{model_id}",
    ):
        assert "Heart disease" in text_of(client.get(path).text), path

    told = client.get(f"/models/{model_id}").json()
    assert (told["target"], told["target_label"]) == ("label", "Heart disease")


def test_a_typed_label_is_the_category_and_raises_no_doubt(
    client: TestClient, model_id: str
) -> None:
    session = begin(client, model_id)
    taken = give(client, session, **{"other.cp": "atypical Angina"})
    odd = give(client, begin(client, model_id), **{"other.cp": "atypical anginas"})

    assert taken.status_code == 303
    answers = client.get(f"/predict/{session['id']}").json()["answers"]
    assert [answer["value"] for answer in answers] == ["atypical ang"]
    assert odd.status_code == 422
    assert f"The nearest is {PAIN}." in text_of(odd.text)


def test_programs_have_both_and_may_answer_either(
    client: TestClient, model_id: str
) -> None:
    session = begin(client, model_id, known={"sex": "Male"})
    question = session["question"]
    features = client.get(f"/models/{model_id}").json()["features"]
    both = {
        feature["name"]: dict(
            zip(feature["categories"], feature["category_labels"], strict=True)
        )
        for feature in features
    }

    assert [answer["value"] for answer in session["answers"]] == ["male"]
    assert question["feature"] == "cp"
    assert question["category_labels"] == [*both["cp"].values()]
    assert both["cp"]["atypical ang"] == PAIN
    assert both["slope"]["flat"] == "flat"


def test_the_start_page_offers_labels_of_what_is_known(
    client: TestClient, model_id: str
) -> None:
    page = client.get(f"/ui/sessions/new?model={model_id}").text

    assert '<option value="male">Male</option>' in page


def test_a_plan_leads_by_labels() -> None:
    pain = heart_feature("cp")
    answers = FlowAnswers(codes=(0, 1))

    assert describe_answers(pain, answers) == f"No symptoms or {PAIN}"


def heart_feature(name: str) -> Feature:
    catalogue = model_from_json(heart()).ensemble.catalogue
    return catalogue.features[catalogue.feature_idxs[name]]


def test_the_monitor_calls_features_as_people_do_and_its_file_by_name(
    client: TestClient, model_id: str, answered: dict[str, Any]
) -> None:
    refused = [{"feature": "chol", "outcome": "refused"}]
    client.post(f"/predict/{answered['id']}/answers", json={"answers": refused})
    here = f"/ui/models/{model_id}/monitor"
    shown, file = text_of(client.get(here).text), client.get(f"{here}.csv").text

    for title in ("Type of chest pain", "Serum cholesterol"):
        assert title in shown
    assert not re.search(r"\b(cp|chol)\b", shown)
    assert ",chol,refused," in file


def test_the_ledger_draws_what_was_paid_and_no_columns_that_came_along(
    client: TestClient,
) -> None:
    model = client.post("/models", json=bundled()).json()["id"]
    session = begin(client, model)
    values = {"chol": 240, "fbs": False, "cp": "typical ang", "age": 60, "sex": "male"}
    answers = [
        {"feature": name, "outcome": "value", "value": value}
        for name, value in values.items()
    ]
    body = {"answers": answers, "insist": True}
    assert client.post(f"/predict/{session['id']}/answers", json=body).is_success
    page = client.get("/ui/ledger").text
    chart = page.partition("Spend by feature</h2>")[2].partition("</svg>")[0]
    table = page.partition("<caption>Spend by feature")[2].partition("</table>")[0]

    assert "Serum cholesterol" in chart
    assert "Fasting blood sugar" not in chart
    assert "Fasting blood sugar" in table
    assert "blood draw" in text_of(page)
