"""The guide on a server: built or not, offline, and no file beside it."""

import re
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from zipfile import ZipFile

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Route, expect

from askless.app.pages.plumbing import assets
from tests.pages.site import BROWSER

SECRET = "SECRET"
PAGES = {
    "index.html": b"<h1>Guide</h1><script>1;\n2</script><script src='a.js'></script>",
    "_static/a.css": b"h1 {}",
    "_sources/a.md": b"# A",
    "a.inv": b"\x00",
}
# What ../ could lead to, by each spelling.
BESIDE = (
    "../secret.txt",
    "%2e%2e/secret.txt",
    "_static/..%2f..%2fsecret.txt",
    "..%5csecret.txt",
    "%2fetc/passwd",
    "//etc/passwd",
    "_static",
    "_static/",
    "index.html%00",
)


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small guide in the place of the built one, and a file beside it."""
    path = tmp_path / "guide.zip"
    with ZipFile(path, "w") as packed:
        for name, content in PAGES.items():
            packed.writestr(name, content)
    (tmp_path / "secret.txt").write_text(SECRET)
    monkeypatch.setattr(assets, "GUIDE", path)
    return path


@pytest.mark.usefixtures("archive")
def test_the_guide_is_served_file_by_file(client: TestClient) -> None:
    led = client.get("/docs/guide")
    first = client.get(led.headers["location"])
    found = {name: client.get(f"/docs/guide/{name}") for name in PAGES}

    assert first.content == PAGES["index.html"]
    assert {name: file.content for name, file in found.items()} == PAGES
    assert [file.headers["content-type"].split(";")[0] for file in found.values()] == [
        *("text/html", "text/css", "text/markdown", "application/octet-stream")
    ]


@pytest.mark.usefixtures("archive")
def test_no_script_runs_but_the_guides_own(client: TestClient) -> None:
    policies = [
        client.get(f"/docs/guide/{name}").headers["content-security-policy"]
        for name in ("index.html", "_static/a.css")
    ]

    scripts = [re.findall(r"script-src ([^;]+)", policy)[0] for policy in policies]
    # What `openssl dgst -sha256 -binary | base64` says of the script.
    own = "'sha256-rvOib1cQgd+Xs9AYNkin6iUYUXSRtROE7RuyVnoFLQo='"
    assert scripts == [f"'self' {own}", "'self'"]
    assert all("default-src 'none'" in policy for policy in policies)
    assert all("frame-ancestors 'none'" in policy for policy in policies)


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize("name", BESIDE)
def test_nothing_beside_the_guide_is_served(client: TestClient, name: str) -> None:
    answer = client.get(f"http://127.0.0.1/docs/guide/{name}")

    assert answer.status_code == 404
    assert SECRET not in answer.text


@pytest.mark.parametrize("path", ["/docs/guide/", "/docs/guide/api.html"])
def test_a_server_without_the_guide_says_how_it_is_built(
    client: TestClient, archive: Path, path: str
) -> None:
    archive.unlink()

    told = client.get(path, headers={"Accept": "*/*"})
    page = client.get(path, headers=BROWSER)

    assert told.status_code == page.status_code == 404
    assert told.json()["type"] == "/problems/not-found"
    words = "This server has no guide: `make docs` builds it in Askless's source."
    assert told.json()["detail"] == words
    assert "`make docs` builds it" in page.text


@pytest.mark.parametrize("is_built", [True, False])
def test_pages_link_to_the_guide_where_it_is(
    client: TestClient, archive: Path, is_built: bool
) -> None:
    if not is_built:
        archive.unlink()

    for path, headers in (("/", {"Accept": "*/*"}), ("/problems", BROWSER)):
        text = client.get(path, headers=headers).text
        assert ('href="/docs/guide/"' in text) is is_built


@pytest.mark.full
def test_the_built_guide_is_searched_without_any_other_site(
    client: TestClient,
    browser: Browser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("sphinx", reason="sphinx, of the group `dev`, is absent")
    from tools.guide import build

    archive = tmp_path / "guide.zip"
    assert build.build(build.ROOT / "docs", tmp_path / "work", archive) == 0
    monkeypatch.setattr(assets, "GUIDE", archive)
    home, others, said = "http://127.0.0.1/docs/guide/", [], []

    def answer(route: Route) -> None:
        url = route.request.url
        if not url.startswith(home):
            others.append(url)
            route.abort()
            return
        got = client.get(urlsplit(url).path)
        route.fulfill(status=got.status_code, headers=got.headers, body=got.content)

    for width in (1280, 390):
        context = browser.new_context(viewport={"width": width, "height": 800})
        page = context.new_page()
        page.on("console", lambda told: said.append(told.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.route("**/*", answer)
        for name in ("", "tour.html", "reference-http.html", "reference-client.html"):
            page.goto(home + name)
            cut = "document.documentElement.scrollWidth - innerWidth"
            assert page.evaluate(cut) <= 0, name
        page.goto(home + "search.html?q=ceiling")
        expect(page.locator("#search-results li a").first).to_be_visible()
        context.close()

    assert (others, said) == ([], [])
    with ZipFile(archive) as packed:
        for name in packed.namelist():
            loaded = re.findall(
                rb"<(?:script|link|img)[^>]*//[^>]*>", packed.read(name)
            )
            assert not (name.endswith(".html") and loaded), name
    listed = client.get("/docs/guide/llms.txt").text
    for link in re.findall(r"\]\(([^)]+)\)", listed):
        assert client.get(urljoin("/docs/guide/llms.txt", link)).status_code == 200
