"""Pages of models: the list, the card, downloads, the champion, deletion."""

import json
import re
from typing import Any

from fastapi.testclient import TestClient

from askless.app.cli.serving import demo
from askless.app.documents.files import read_model
from askless.app.pages.home import describe_curve
from askless.app.records import DEFAULT_TENANT
from askless.app.settings.settings import Settings
from askless.app.words.budgets import list_budget_words
from tests.app.clinic import many, model_json
from tests.pages.site import heart


def bring(client: TestClient, **changes: Any) -> str:
    """Import the model of `heart.json` and return its id."""
    url = "/models?as_version=true"
    made = client.post(url, json=heart() | changes, headers={"Accept": "*/*"})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def test_home_shows_what_is_being_trained(
    client: TestClient, settings: Settings
) -> None:
    with demo.open_engine(settings) as engine:
        demo.enqueue_missing_trainings(settings, engine, DEFAULT_TENANT)

    page = client.get("/ui").text

    assert "The first one is being trained." in page
    assert page.index("Being trained") < page.index("heart-cleveland")
    assert page.count(">queued<") == 4


def test_a_curve_is_told_to_the_cent() -> None:
    model = read_model(heart())

    assert re.search(r"to 1\d % for 3\d\d\.\d\d CAD a case$", describe_curve(model))
    for word in list_budget_words(model):
        assert re.search(r" \d+\.\d\d CAD spent$", word.words)


def test_pages_of_a_model_may_be_opened_by_its_name(client: TestClient) -> None:
    older, newer = bring(client), bring(client)

    page = client.get("/ui/models/heart-cleveland").text
    monitor = client.get("/ui/models/heart-cleveland@1/monitor").text
    plan = client.get("/ui/models/heart-cleveland@1/plan").text

    assert f"/ui/models/{newer}/plan" in page
    assert f"a={newer}&amp;b={older}" in page
    assert f"b={newer}" not in page
    assert "Monitor" in monitor
    assert f'href="/ui/models/{older}"' in monitor
    assert f"/ui/models/{older}/plan.svg" in plan
    assert client.get("/ui/models/heart-cleveland@3").status_code == 404


def test_pages_of_a_model_have_its_note_at_the_foot(client: TestClient) -> None:
    card = heart()["card"] | {"note": "For <b>tests</b>."}
    id = bring(client, card=card)
    case = client.post("/predict", json={"model": id, "budget": 5}).json()["id"]
    pages = [f"models/{id}", f"models/{id}/plan", f"models/{id}/monitor"]
    pages += [f"sessions/{end}" for end in (f"new?model={id}", case, f"{case}/result")]

    for page in pages:
        foot = client.get(f"/ui/{page}").text.split("<footer>")[1]
        assert "For &lt;b&gt;tests&lt;/b&gt;." in foot, page
    assert "tests" not in client.get("/ui/keys").text.split("<footer>")[1]


def test_many_features_are_folded_after_the_first(client: TestClient) -> None:
    made = client.post("/models", json=model_json(many(30), "wide")).json()

    page = client.get(f"/ui/models/{made['id']}").text

    first, folded = page.split(
        "<details><summary>10 more features that it reads</summary>"
    )
    assert first.count('<th scope="row">') == 20
    assert folded.count('<th scope="row">') >= 10


def test_the_file_is_the_one_that_was_brought(client: TestClient) -> None:
    id = bring(client)
    got, spec = (
        client.get(f"/ui/models/{id}/{name}.json") for name in ("model", "spec")
    )

    assert json.loads(got.text)["hypotheses"] == heart()["hypotheses"]
    told = got.headers["content-disposition"]
    assert told == 'attachment; filename="heart-cleveland-1.model.json"'
    assert spec.status_code == 404
