"""What the server says of pages to whoever asks: headers, files, problems."""

import re

import pytest
from fastapi.testclient import TestClient

from askless.app.pages.plumbing.errors import prefers_pages, remove_program_hints
from askless.app.problems import KINDS
from tests.pages.site import BROWSER


@pytest.fixture
def client(client: TestClient) -> TestClient:
    client.headers["Accept"] = "*/*"
    return client


@pytest.mark.parametrize(
    ("accept", "is_page"),
    [
        (BROWSER["Accept"], True),
        ("text/html", True),
        ("TEXT/HTML; q=0.5, application/json;q=0.4", True),
        ("*/*", False),
        ("", False),
        ("application/json", False),
        ("application/json, text/html", False),
        ("text/html;q=0.3, application/problem+json;q=0.9", False),
        ("text/html;q=0", False),
        ("text/html;q=many", False),
    ],
)
def test_pages_are_for_those_who_prefer_them(accept: str, is_page: bool) -> None:
    assert prefers_pages(accept) == is_page


def test_the_first_address_leads_browsers_to_pages(client: TestClient) -> None:
    led, told = client.get("/", headers=BROWSER), client.get("/")

    assert (led.status_code, led.headers["location"]) == (303, "/ui")
    assert told.status_code == 200
    assert {response.headers["vary"] for response in (led, told)} == {"Accept"}


@pytest.mark.parametrize("path", ["/ui", "/ui/sign-in", "/", "/docs", "/problems"])
def test_no_page_can_stand_in_a_frame_of_others(client: TestClient, path: str) -> None:
    page = client.get(path)

    assert page.headers["content-type"].startswith("text/html")
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


def test_no_browser_guesses_what_an_answer_is(client: TestClient) -> None:
    address = re.findall(r'"(/ui/static/[^"]+)"', client.get("/ui").text)[0]
    for path in (address, "/ui", "/models", "/openapi.json", "/nothing", "/docs"):
        got = client.get(path)
        assert got.headers.get_list("x-content-type-options") == ["nosniff"], path


def test_files_are_kept_for_good_under_an_address_of_their_content(
    client: TestClient,
) -> None:
    addresses = re.findall(r'"(/ui/static/[^"]+)"', client.get("/ui").text)
    files = [client.get(address) for address in addresses]

    assert len(files) == 3
    for file in files:
        assert file.status_code == 200
        assert file.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert client.get("/ui/static/style.css").status_code == 404
    assert max(len(file.content) for file in files) < 25_000


@pytest.mark.parametrize("path", ["/models/none", "/nothing", "/ui/nothing"])
def test_what_is_not_there_is_a_page_for_browsers_alone(
    client: TestClient, path: str
) -> None:
    page, document = client.get(path, headers=BROWSER), client.get(path)

    assert page.status_code == document.status_code == 404
    assert page.headers["x-request-id"] in page.text
    assert page.text.count(KINDS["not-found"].meaning) == 1
    assert document.json()["type"] == "/problems/not-found"


def test_no_page_tells_people_what_only_programs_see() -> None:
    told = {kind: remove_program_hints(kind_.meaning) for kind, kind_ in KINDS.items()}

    assert told["forbidden"] == ""
    assert told["internal"] == "Nothing was stored."
    assert told["too-large"] == KINDS["too-large"].meaning
    assert not [one for one in told.values() if "`" in one or "Retry-After" in one]


def test_what_comes_too_early_for_the_application_is_a_page_too(
    client: TestClient,
) -> None:
    foreign = {**BROWSER, "Host": "evil.test"}
    large = {**BROWSER, "Content-Length": "9999999999"}

    refused = client.get("/ui", headers=foreign)
    too_large = client.post("/predict", headers=large)

    assert [refused.status_code, too_large.status_code] == [421, 413]
    for response in (refused, too_large):
        assert response.headers["content-type"].startswith("text/html")


def test_no_page_is_in_the_document_of_the_api(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]

    assert [path for path in paths if path.startswith("/ui")] == []
