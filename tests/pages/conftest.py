"""A server with one small model for a process of tests, and Chromium for a file.

Debian's Chromium is driven through Playwright. Where there is none, what needs it is
skipped.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from askless.app.documents.model.model import model_from_json
from askless.app.settings.settings import Settings
from askless.core.model.model import Model
from tests.app.conftest import (  # noqa: F401  # fixtures
    read_here,
    sqlite_template,
    warm_kernels,
)
from tests.app.servers import Server
from tests.kept import Applications, kept_applications, short_folder  # noqa: F401  # fixtures
from tests.pages.site import BROWSER, Site, fill, heart
from tests.pages.visitors import Visitor

CHROMIUM = shutil.which("chromium")
# Far more than anything takes: a machine that is busy fails no test.
WITHIN_MS = 60_000
expect.set_options(timeout=WITHIN_MS)


@pytest.fixture
def engine_name() -> str:
    return "sqlite"


@pytest.fixture
def is_local() -> bool:
    """Whether the server asks for no keys; files about keys say no."""
    return True


@pytest.fixture
def settings(applications: Applications, sqlite_template: Path) -> Settings:  # noqa: F811
    url = applications.renew_database(sqlite_template)
    return Settings(home=applications.home, database_url=url)


@pytest.fixture
def app(settings: Settings, is_local: bool, applications: Applications) -> FastAPI:
    return applications.find(settings, is_local=is_local)


@pytest.fixture
def client(
    app: FastAPI, is_local: bool, applications: Applications
) -> Iterator[TestClient]:
    """A client that follows no redirect; without keys it prefers pages."""
    url = "http://127.0.0.1" if is_local else "http://askless.test"
    headers = BROWSER if is_local else {}
    more = {"headers": headers, "follow_redirects": False}
    with applications.client(app, url, **more) as made:
        yield made


@pytest.fixture
def model_id(client: TestClient) -> str:
    """The model of `heart.json`, imported."""
    return str(client.post("/models", json=heart()).json()["id"])


@pytest.fixture
def model() -> Model:
    return model_from_json(heart())


@pytest.fixture
def ours(client: TestClient) -> Visitor:
    return Visitor(client, tenant="ours")


@pytest.fixture(scope="session")
def site(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Site]:
    """A server on loopback, which asks no keys, with the model of `heart.json`."""
    home = tmp_path_factory.mktemp("site")
    shutil.copy(request.getfixturevalue("sqlite_template"), home / "askless.db")
    server = Server(Settings(home=home))
    try:
        yield fill(server.url)
    finally:
        server.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, ended with the last test of a file.

    As long as Playwright runs, no test of the same process can call `asyncio.run`.
    """
    if CHROMIUM is None:
        pytest.skip("Debian's chromium is not installed")
    with sync_playwright() as playwright:
        made = launch(playwright)
        yield made
        made.close()


def launch(playwright: Playwright) -> Browser:
    # As root, which containers are, Chromium has no sandbox.
    wanted = ["--no-sandbox", "--disable-gpu"]
    return playwright.chromium.launch(executable_path=CHROMIUM, args=wanted)


def open_page(browser: Browser, site: Site, **more: Any) -> Iterator[Page]:
    """A page of a fresh browser; what its console says as an error fails the test."""
    context = browser.new_context(base_url=site.url, **more)
    context.set_default_timeout(WITHIN_MS)
    made, said = context.new_page(), []
    made.on("console", lambda one: said.append(one.text) if one.type == "error" else 0)
    made.on("pageerror", lambda one: said.append(str(one)))
    yield made
    context.close()
    # A refused form has such a status, which is no mistake of the page.
    assert [one for one in said if "the server responded with" not in one] == []


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """A page with JavaScript."""
    yield from open_page(browser, site)
