"""LHC-Forms in Chromium draws adaptive forms of ours and sends them.

The page `lforms.html` holds it, as an application would. The package comes from npm.
"""

import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect, sync_playwright

from askless.app.settings.settings import Settings
from askless.app.store.database.migrate import migrate
from tests.app.doors.fhir.filler import ABSENT, Json, said
from tests.app.servers import Server
from tests.pages.conftest import CHROMIUM, launch

HERE = Path(__file__).resolve().parent
HEART = HERE.parents[2] / "pages/heart.json"
PACKAGE = "lforms@40.1.3"
WITHIN_MS = 90_000
# What is not here is refused.
NUMBERS = {"age": "63", "trestbps": "150", "chol": "240", "ca": "1", "thalach": "120"}
VALUES = {"cp": "asymptomatic"} | NUMBERS
# People see and type the label of a category.
SHOWN = VALUES | {"cp": "No symptoms"}


@pytest.fixture(scope="module")
def lforms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of LHC-Forms' built files."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("lforms")
    command = [npm, "pack", PACKAGE, "--silent", "--pack-destination", str(folder)]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    if done.returncode:
        pytest.skip("npm's registry does not give lforms")
    with tarfile.open(next(folder.glob("*.tgz"))) as package:
        package.extractall(folder, filter="data")
    return folder / "package/dist/lforms"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = Settings(home=tmp_path_factory.mktemp("forms"), doors=["fhir"])
    migrate(settings.url)
    server = Server(settings)
    try:
        model = json.loads(HEART.read_text(encoding="utf-8"))
        post = {"json": model, "timeout": 120, "trust_env": False}
        httpx.post(f"{server.url}/models", **post).raise_for_status()
        yield server.url
    finally:
        server.close()


@pytest.fixture
def page(lforms: Path) -> Iterator[Page]:
    """A page that finds LHC-Forms' files, and ours, at the service's address."""
    if CHROMIUM is None:
        pytest.skip("Debian's chromium is not installed")

    def give(route: Any) -> None:
        name = route.request.url.partition("/lforms/")[2].partition("?")[0]
        route.fulfill(path=lforms / name if name else HERE / "lforms.html")

    with sync_playwright() as playwright:
        browser = launch(playwright)
        made = browser.new_page()
        made.set_default_timeout(WITHIN_MS)
        made.route("**/lforms/**", give)
        made.route("**/lforms.html*", give)
        yield made
        browser.close()


def wait_for_call(page: Page, number: int) -> str:
    """Wait until a call's form is drawn; give the feature that it asks."""
    expect(page.locator("#status")).to_have_attribute(
        "data-calls", str(number), timeout=WITHIN_MS
    )
    return str(page.locator("#status").get_attribute("data-asked"))


def test_lforms_draws_and_sends_a_case(page: Page, address: str) -> None:
    page.goto(f"{address}/lforms.html?model=heart-cleveland&budget=130")
    calls, given = 1, {}
    while feature := wait_for_call(page, calls):
        calls += 1
        if feature not in VALUES:
            given[feature] = None
            page.get_by_role("button", name="Refused").click()
            continue
        given[feature] = VALUES[feature]
        field = page.locator(f"[id='{feature}/1']")
        field.click()
        field.press_sequentially(SHOWN[feature])
        field.press("Enter")
        field.press("Tab")
        page.get_by_role("button", name="Next question").click()

    expect(page.locator("#status")).to_have_text("completed")
    response: Json = page.evaluate("response")
    url = f"{address}/predict/{said(response, 'session')}"
    session = httpx.get(url, trust_env=False).json()
    taken = {answer["feature"]: answer["value"] for answer in session["answers"]}
    assert {
        name: None if one is None else str(one) for name, one in taken.items()
    } == given
    assert "cp" in given
    assert NUMBERS.keys() & given.keys()
    assert None in given.values()
    assert session["budget"]["spent"] == said(response, "spent") > 0
    refused = [item for item in response["item"] if "answer" not in item]
    assert all(ABSENT in str(refusal["extension"]) for refusal in refused)
    # What a person sees of the answers before is what was answered.
    for name, value in given.items():
        if value is not None:
            expect(page.locator(f"[id='{name}/1']")).to_have_value(SHOWN[name])
