"""A person signs in at a real provider with Chromium, and out."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from askless.app.settings.settings import Settings
from tests.app.doors.oidc.provider import Provider, host_of
from tests.app.servers import Server
from tests.pages.audit import audit
from tests.pages.conftest import CHROMIUM, WITHIN_MS, launch


@pytest.fixture
def server(settings: Settings, provider_folder: Path) -> Iterator[Server]:
    """A server, and a provider that knows its address."""
    made = Server(settings, knows_address=True)
    provider = Provider(provider_folder, made.url)
    made.restart(provider.settings_of(settings))
    yield made
    made.close()
    provider.close()


@pytest.fixture
def page(server: Server) -> Iterator[Page]:
    if CHROMIUM is None:
        pytest.skip("Debian's chromium is not installed")
    with sync_playwright() as playwright:
        browser = launch(playwright)
        made = browser.new_page(base_url=server.url)
        made.set_default_timeout(WITHIN_MS)
        yield made
        browser.close()


def sign_in(page: Page, server: Server, name: str) -> None:
    page.goto("/ui/keys")
    host = host_of(str(server.settings.oidc_issuer))
    page.get_by_role("link", name=f"Sign in at {host}").click()
    page.get_by_placeholder("Enter any login").fill(name)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def test_a_person_signs_in_and_out(page: Page, server: Server) -> None:
    provider = str(server.settings.oidc_issuer)

    sign_in(page, server, "grace")

    expect(page).to_have_url(f"{server.url}/ui/keys")
    expect(page.get_by_role("rowheader", name="Grace Hopper")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You have signed out here.")).to_be_visible()
    audit(page)
    page.get_by_role("link", name="Sign out there, too").click()
    expect(page).to_have_url(f"{provider}/session/end?client_id=askless")


def test_who_may_not_come_in_comes_as_somebody_else(page: Page, server: Server) -> None:
    sign_in(page, server, "alan")

    expect(page.get_by_text("You are in no group")).to_be_visible()
    audit(page)
    page.get_by_role("link", name="sign out at").click()
    page.get_by_role("button", name="Yes, sign me out").click()
    sign_in(page, server, "grace")
    expect(page).to_have_url(f"{server.url}/ui/keys")
