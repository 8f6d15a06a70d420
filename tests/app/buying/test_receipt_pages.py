"""The page of a run shows each call as it ends, and becomes its receipt."""

import re
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.app.buying.conftest import DOMAINS, Decide, Provide, shop
from tests.app.buying.vendors import EMPTY, Vendors, fails
from tests.app.clinic import Put
from tests.pages.site import BROWSER, post

pytest_plugins = ["tests.app.conftest_http"]

ALL = ("firmo", "visits", "score")


def read_page(client: TestClient, path: str) -> str:
    return client.get(path, headers=BROWSER).text


def words_of(page: str) -> str:
    """The words of a page, without its marks."""
    return " ".join(unescape(re.sub("<[^>]+>", " ", page)).split())


def test_the_receipt_shows_what_was_bought_and_what_was_not(
    decide: Decide, provide: Provide, vendors: Vendors, client: TestClient
) -> None:
    provide(*ALL)
    vendors.script("firmo", EMPTY)
    vendors.script("score", fails(503))

    session = decide(client_ref="Acme <b>")
    page = read_page(client, f"/ui/sessions/{session['id']}")

    words = words_of(page)
    receipt = client.get(f"/predict/{session['id']}/receipt").json()
    assert "Decided: Acme <b>" in words
    assert "firmo empty charged all the same 0.05" in words
    assert "score not charged answered 503 0.00" in words
    assert "visits : 20 0.001" in words
    assert "no provider was left (score: answered 503)" in words
    assert receipt["hash"] in words
    assert "data-follow" not in page
    assert "waterfall" not in words


def test_the_download_is_the_receipt_of_the_api(
    decide: Decide, provide: Provide, client: TestClient
) -> None:
    provide(*ALL)
    session = decide()

    file = client.get(f"/ui/sessions/{session['id']}/receipt.json", headers=BROWSER)

    assert "attachment" in file.headers["Content-Disposition"]
    assert file.text == client.get(f"/predict/{session['id']}/receipt").text


@pytest.fixture
def under_way(client: TestClient, put: Put, provide: Provide) -> dict[str, Any]:
    """A run that nobody carries out yet."""
    provide(*ALL)
    body = {"model": put(shop(), "shop"), "budget": 1.0, "run": True}
    response = client.post("/predict", json=body | {"keys": {"domain": DOMAINS[1]}})
    session: dict[str, Any] = response.json()
    return session


def test_a_run_under_way_is_followed_with_and_without_scripts(
    under_way: dict[str, Any], client: TestClient
) -> None:
    page = read_page(client, f"/ui/sessions/{under_way['id']}")

    assert f'data-follow="/ui/sessions/{under_way["id"]}/receipt/events"' in page
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in page
    assert "Nothing yet." in words_of(page)
    assert "What was not bought" not in page


def test_a_run_is_paused_goes_on_and_is_handed_to_a_person(
    under_way: dict[str, Any], client: TestClient
) -> None:
    path = f"/ui/sessions/{under_way['id']}"
    texts, states = [], []
    for change in ("pause", "buy", "release"):
        texts.append(words_of(post(client, f"{path}/run", change=change).text))
        session = client.get(f"/predict/{under_way['id']}").json()
        states.append(session["run"] and session["run"]["state"])

    assert states[:2] == ["paused", "buying"]
    assert "Paused" in texts[0]
    assert "Go on buying" in texts[0]
    assert "Pause" in texts[1]
    assert "Ask:" in texts[2]
    assert "Ask:" in words_of(read_page(client, path))


def test_a_run_that_has_ended_is_not_changed(
    decide: Decide, provide: Provide, client: TestClient
) -> None:
    provide(*ALL)
    session = decide()

    refused = post(client, f"/ui/sessions/{session['id']}/run", change="pause")

    assert refused.status_code == 409
    assert "The run has ended meanwhile" in refused.text


def test_an_erased_case_has_no_receipt(
    decide: Decide, provide: Provide, client: TestClient
) -> None:
    provide(*ALL)
    session = decide(client_ref="Acme")
    client.delete(f"/predict/{session['id']}")

    page = read_page(client, f"/ui/sessions/{session['id']}/receipt")

    assert "erased" in page
    assert "Acme" not in page
