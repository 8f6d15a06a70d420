"""A mean budget on the start page: offered, refused, kept, and said on the case."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Page

from askless.app.documents.model.model import model_to_json
from askless.app.settings.settings import Settings
from askless.core.model.model import Curve, Model
from tests.app.clinic import model_json
from tests.app.servers import Server
from tests.pages.audit import audit
from tests.pages.conftest import open_page
from tests.pages.site import Site, post
from tests.panels import make_aimed

FIELD = "aim.mean_budget"


@pytest.fixture
def aimed_id(client: TestClient) -> str:
    """A model that takes aims: its mean spend is from 0 to 5."""
    made = client.post("/models", json=model_json(make_aimed(), "aimed"))
    return str(made.json()["id"])


def form_of(client: TestClient, model_id: str) -> str:
    return str(client.get(f"/ui/sessions/new?model={model_id}").text)


def send(client: TestClient, model_id: str, **fields: str) -> Any:
    form = {"model": model_id, "certain": "yes"} | fields
    return post(client, "/ui/sessions/new", **form)


def sessions_of(client: TestClient) -> list[dict[str, Any]]:
    items = client.get("/predict").json()["items"]
    return [client.get(f"/predict/{item['id']}").json() for item in items]


@pytest.mark.parametrize(("most", "limit"), [("4", 4), ("", None)])
def test_mean_and_most_if_any_are_those_of_the_session(
    client: TestClient, aimed_id: str, most: str, limit: int | None
) -> None:
    made = send(client, aimed_id, limit="mean", budget=most, **{FIELD: "2,5"})

    (session,) = sessions_of(client)
    # Whether anything is asked hangs on the session's seed.
    page = client.get(made.headers["location"], follow_redirects=True).text
    assert made.status_code == 303
    assert session["aim"]["mean_budget"] == 2.5
    assert session["budget"]["limit"] == limit
    assert (
        "With a mean budget of 2.50 cases cost 2.50 on average, and 25 of 100 are wrong"
        in re.sub(r"\s+", " ", page)
    )


@pytest.mark.parametrize("limit", ["some", "none"])
def test_mean_that_was_not_chosen_is_refused_and_an_empty_one_is_none(
    client: TestClient, aimed_id: str, limit: str
) -> None:
    refused = send(client, aimed_id, limit=limit, budget="4", **{FIELD: "2.5"})
    before = sessions_of(client)
    made = send(client, aimed_id, limit=limit, budget="4", **{FIELD: " "})

    (session,) = sessions_of(client)
    assert refused.status_code == 422
    assert "must be empty, or chosen above" in refused.text
    assert before == []
    assert session["aim"] is None
    assert (
        "mean budget"
        not in client.get(made.headers["location"], follow_redirects=True).text
    )


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        ("", "must be an amount such as 12.50"),
        ("2000000000000", "must"),
    ],
)
def test_bad_mean_is_refused_at_its_field_and_starts_nothing(
    client: TestClient, aimed_id: str, typed: str, rule: str
) -> None:
    refused = send(client, aimed_id, limit="mean", budget="4", **{FIELD: typed})

    place = re.search(r'id="(f-aim[^"]+)-error">(.+?)</p>', refused.text)
    assert refused.status_code == 422
    assert place is not None, refused.text
    assert rule in place[2]
    assert f'<a href="#{place[1]}"><bdi class="name">On average' in refused.text
    # What was chosen stays chosen.
    assert re.search('value="mean" checked', refused.text)
    assert sessions_of(client) == []


def test_bad_most_beside_a_mean_is_refused_as_the_budget(
    client: TestClient, aimed_id: str
) -> None:
    refused = send(client, aimed_id, limit="mean", budget="much", **{FIELD: "2.5"})

    assert refused.status_code == 422
    assert 'id="f-budget-error"' in refused.text
    assert "f-aim_2e_mean_5f_budget-error" not in refused.text


def test_mean_is_not_offered_by_a_model_that_can_have_none(
    client: TestClient, model_id: str, aimed_id: str
) -> None:
    without, with_mean = form_of(client, model_id), form_of(client, aimed_id)

    refused = send(client, model_id, limit="mean", budget="4", **{FIELD: "2.5"})

    assert 'value="mean"' not in without
    assert "only models of panels have learned" in without
    assert 'value="mean"' in with_mean
    assert "only models of panels have learned" not in with_mean
    assert refused.status_code == 422
    assert re.search('id="f-limit-error">.*not for the policy', refused.text)
    assert sessions_of(client) == []


@pytest.fixture
def form(settings: Settings, browser: Browser) -> Iterator[Page]:
    """The form of a model that takes aims and has a curve, in a browser."""
    curve = Curve(
        budgets=(0, 3_000_000, None),
        errors=(0.4, 0.2, 0.1),
        errors_calibrated=(0.4, 0.2, 0.1),
        mean_spends=(0.0, 3e6, 5e6),
        max_spends=(0, 3_000_000, 5_000_000),
        n_samples=40,
    )
    server = Server(settings)
    site = Site(server.url, "")
    model = Model("aimed", make_aimed(), "y", curve=curve)
    made = site.call("POST", "/models", model_to_json(model))
    for page in open_page(browser, site):
        page.goto(f"/ui/sessions/new?model={made['id']}")
        yield page
    server.close()


def test_who_types_a_mean_has_chosen_it(form: Page) -> None:
    audit(form)
    was_chosen = form.get_by_label("At most the budget below").is_checked()

    form.get_by_label("On average", exact=True).fill("2.5")

    assert was_chosen
    assert form.get_by_label("On average the mean below").is_checked()
    assert "Without a mean, at 3: 20 % error" in form.locator(".words").inner_text()
    form.get_by_role("button", name="Start").click()
    form.wait_for_url("**/ui/sessions/ses_**")
    assert "With a mean budget of 2.50" in form.locator("main").inner_text()
