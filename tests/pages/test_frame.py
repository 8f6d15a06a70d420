"""What every page has: its headers, its looks, and that anybody can use it."""

import pytest
from playwright.sync_api import Page, expect

from tests.pages.audit import audit

PLAIN = ("/problems", "/problems/forbidden", "/models/none")


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


def test_the_keyboard_skips_to_the_content(page: Page) -> None:
    page.goto("/ui")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator("main")).to_be_focused()
