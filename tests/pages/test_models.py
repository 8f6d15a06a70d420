"""Pages of models: the list, the card, downloads, the champion, deletion."""

import json
import re
from typing import Any

from fastapi.testclient import TestClient
from playwright.sync_api import Page, expect

from askless.app.cli.serving import demo
from askless.app.documents.files import read_model
from askless.app.pages.home import describe_curve
from askless.app.records import DEFAULT_TENANT
from askless.app.settings.settings import Settings
from askless.app.words.budgets import budget_words
from tests.app.clinic import many, model_json
from tests.pages.site import Site, heart, token_of


def bring(client: TestClient, **changes: Any) -> str:
    """Import the model of `heart.json` and return its id."""
    url = "/models?as_version=true"
    made = client.post(url, json=heart() | changes, headers={"Accept": "*/*"})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def send(client: TestClient, address: str, page: str, **fields: str) -> Any:
    """Send the form of a page."""
    token = token_of(client.get(page).text)
    return client.post(address, data={"form_token": token, **fields})


def test_a_card_tells_what_the_model_knows(client: TestClient) -> None:
    page = client.get(f"/ui/models/{bring(client)}").text

    for words in ("303", "164", "5-fold", "adaboost_bt_smoothed", "imported"):
        assert words in page
    assert page.count("<svg") == 7
    assert "always the commonest class" in page
    assert not re.search(r"<[^>]+\s(style|on\w+)=", page)


def test_home_shows_what_is_being_trained(
    client: TestClient, settings: Settings
) -> None:
    with demo.connected(settings) as engine:
        demo.enqueue_tables(settings, engine, DEFAULT_TENANT)

    page = client.get("/ui").text

    assert "The first one is being trained." in page
    assert page.index("Being trained") < page.index("heart-cleveland")
    assert page.count(">queued<") == 3


def test_a_curve_is_told_to_the_cent() -> None:
    model = read_model(heart())

    assert re.search(r"to 1\d % for 3\d\d\.\d\d CAD a case$", describe_curve(model))
    for one in budget_words(model):
        assert re.search(r" \d+\.\d\d CAD spent$", one.words)


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


def test_a_model_without_a_curve_has_its_card(client: TestClient) -> None:
    page = client.get(f"/ui/models/{bring(client, curve=None, card={})}").text

    assert "There is no curve of its error" in page
    assert "<svg" not in page


def test_the_file_is_the_one_that_was_brought(client: TestClient) -> None:
    id = bring(client)
    got, spec = (client.get(f"/ui/models/{id}/{one}.json") for one in ("model", "spec"))

    assert json.loads(got.text)["hypotheses"] == heart()["hypotheses"]
    told = got.headers["content-disposition"]
    assert told == 'attachment; filename="heart-cleveland-1.model.json"'
    assert spec.status_code == 404


def test_a_champion_is_made_and_unmade(client: TestClient) -> None:
    first, second = bring(client), bring(client)
    page = f"/ui/models/{first}"

    made = send(client, f"{page}/champion", page)
    crowned = client.get(made.headers["location"]).text
    ended = send(client, f"{page}/champion", page, off="1")

    assert made.status_code == ended.status_code == 303
    assert "It is the champion now" in crowned
    assert f"/ui/models/{second}" in crowned
    assert "no champion any more" in client.get(ended.headers["location"]).text


def test_a_model_is_deleted_once_no_case_of_it_is_open(client: TestClient) -> None:
    id = bring(client)
    page = f"/ui/models/{id}/delete"
    started = client.post("/predict", json={"model": id, "budget": 60})
    refused = send(client, page, page)
    client.post(f"/predict/{started.json()['id']}/stop")
    done = send(client, page, page)

    assert (refused.status_code, done.status_code) == (409, 303)
    assert "open or wait" in refused.text
    assert "The model is deleted" in client.get(done.headers["location"]).text
    assert client.get(f"/ui/models/{id}").status_code == 404


def test_one_goes_from_the_list_to_a_model_and_back(any_page: Page, site: Site) -> None:
    page, heading = any_page, any_page.get_by_role("heading", level=1)
    page.goto("/ui/models")
    page.get_by_role("link", name="heart-cleveland").first.click()
    expect(heading).to_contain_text("heart")
    page.get_by_text("The same as a table").first.click()
    expect(page.locator("details table").first).to_be_visible()
    page.get_by_role("link", name="Delete").click()
    expect(heading).to_contain_text("Delete")
    page.get_by_role("link", name="Keep it").click()
    expect(page).to_have_url(re.compile(site.model_id))
