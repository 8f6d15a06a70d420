"""What every page has: its headers, its looks, and that anybody can use it."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.pages.audit import audit
from tests.pages.site import Site

PLAIN = ("/problems", "/problems/forbidden", "/models/none")


@pytest.mark.parametrize("address", PLAIN)
def test_a_page_keeps_nobody_out(page: Page, address: str) -> None:
    page.goto(address)

    audit(page)


def test_the_audit_sees_what_keeps_people_out(page: Page) -> None:
    page.goto("/ui/sign-in")
    page.evaluate("document.querySelector('label').remove()")
    page.evaluate("document.querySelector('main p').style.color = '#333'")
    page.evaluate("document.querySelector('h1').style.width = '500px'")

    with pytest.raises(AssertionError) as caught:
        audit(page)

    told = str(caught.value)
    seen = ("light: label", "dark: color-contrast", "px wider")
    assert all(one in told for one in seen)


def test_a_wrong_key_is_said_where_it_was_typed(any_page: Page) -> None:
    any_page.goto("/ui/sign-in")
    any_page.get_by_label("Key").fill("askl_1_2")
    any_page.get_by_role("button", name="Sign in").click()

    field = any_page.get_by_label("Key")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile("must be a key"))
    expect(any_page).to_have_title(re.compile("^Error"))
    expect(any_page.get_by_role("alert")).to_contain_text("key")


def test_the_keyboard_skips_to_the_content(page: Page) -> None:
    page.goto("/ui")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator("main")).to_be_focused()


def test_home_shows_models_and_open_sessions(any_page: Page, site: Site) -> None:
    session = site.start(client_ref="visit-1")

    any_page.goto("/")

    assert any_page.url == f"{site.url}/ui"
    expect(any_page.get_by_role("heading", name="heart", level=3)).to_be_visible()
    expect(any_page.get_by_text("visit-1")).to_be_visible()
    picture = any_page.locator("img").first
    expect(picture).to_have_js_property("complete", True)
    assert picture.evaluate("one => one.naturalWidth") > 0
    site.call("POST", f"/predict/{session['id']}/stop", {})
