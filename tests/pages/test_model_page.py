"""The page of a model in a browser: one section at a time, and all of them on paper."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.pages.conftest import open_page
from tests.pages.site import Site
from tests.pages.test_ways import press

SECTIONS = {
    "short": "In short",
    "tests": "Prices and tests",
    "cases": "How cases go",
    "statistics": "For statisticians",
    "versions": "Versions and files",
}
HEIGHT = "document.documentElement.scrollHeight"
NAVIGATION = "nav[aria-label=Main]"


@pytest.fixture
def plain_page(browser: Browser, site: Site) -> Iterator[Page]:
    """A page without JavaScript."""
    yield from open_page(browser, site, java_script_enabled=False)


def shows_only(page: Page, section: str) -> None:
    for name in SECTIONS:
        expect(page.locator(f"#{name}")).to_be_visible(visible=name == section)


def test_a_section_is_seen_at_a_time_without_a_script(
    plain_page: Page, site: Site
) -> None:
    plain_page.goto(f"/ui/models/{site.model_id}")
    shows_only(plain_page, "short")
    for name, words in SECTIONS.items():
        plain_page.get_by_role("link", name=words).click()
        shows_only(plain_page, name)


def test_an_address_leads_to_a_section_which_is_marked(page: Page, site: Site) -> None:
    marked = page.locator(".contents [aria-current]")
    for name, words in SECTIONS.items():
        page.goto("about:blank")
        page.goto(f"/ui/models/{site.model_id}#{name}")
        shows_only(page, name)
        expect(marked).to_have_text(words)
    page.get_by_role("link", name="In short").click()
    expect(marked).to_have_text("In short")
    page.go_back()
    expect(marked).to_have_text("Versions and files")


def test_keys_lead_to_a_section_and_skip_to_what_is_seen(
    page: Page, site: Site
) -> None:
    # The link that skips slides into sight.
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"/ui/models/{site.model_id}")
    press(page, "How cases go")
    shows_only(page, "cases")
    press(page, "The same as a table")
    expect(page.get_by_role("table").first).to_be_visible()
    page.locator(".skip").press("Enter")
    expect(page.locator("main")).to_be_focused()
    shows_only(page, "cases")


def test_no_section_is_longer_than_3000_pixels(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    heights = {}
    for name in SECTIONS:
        page.goto(f"/ui/models/{site.model_id}#{name}")
        heights[name] = page.evaluate(HEIGHT)

    assert max(heights.values()) <= 3000, heights


def test_buttons_have_one_row_and_headings_room(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"/ui/models/{site.model_id}")
    tops = page.locator("main > .buttons > a").evaluate_all(
        "all => all.map((it) => it.getBoundingClientRect().top)"
    )
    card = page.locator("#short .card").bounding_box()
    heading = page.get_by_role("heading", name="How often it is wrong").bounding_box()

    assert len(tops) == 5
    assert max(tops) == min(tops)
    assert card is not None
    assert heading is not None
    assert heading["y"] - (card["y"] + card["height"]) >= 16


def test_names_beside_a_chart_are_whole_and_within_it(page: Page, site: Site) -> None:
    page.goto(f"/ui/models/{site.model_id}#cases")
    chart = page.locator("#cases figure svg")
    names = chart.locator("text").all_text_contents()
    box = chart.bounding_box()
    lefts = chart.locator("text").evaluate_all(
        "all => all.map((it) => it.getBoundingClientRect().left)"
    )

    assert "Fasting blood sugar above" in names
    assert "120 mg/dL" in names
    assert not any("…" in name for name in names)
    assert box is not None
    assert min(lefts) >= box["x"]


def test_paper_has_all_sections_and_tables(page: Page, site: Site) -> None:
    page.goto(f"/ui/models/{site.model_id}#tests")
    page.emulate_media(media="print")

    for name in SECTIONS:
        expect(page.locator(f"#{name}")).to_be_visible()
    expect(page.get_by_text("What was said and what came").last).to_be_visible()
    expect(page.locator(".contents")).to_be_hidden()


@pytest.mark.parametrize("path", ["/ui/sessions", "/ui/models/heart-cleveland/plan"])
def test_labels_and_fields_of_a_row_stand_side_by_side(page: Page, path: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(path)
    for part in ("label", "input, select"):
        tops = page.locator(f".filters :is({part})").evaluate_all(
            "all => all.map((it) => it.getBoundingClientRect().top)"
        )
        assert len(tops) > 1
        assert max(tops) - min(tops) < 2, part


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_has_the_whole_navigation(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    page.goto("/ui")
    links = page.locator(f"{NAVIGATION} a")
    boxes = [link.bounding_box() for link in links.all()]

    assert len(boxes) == 8
    for box in boxes:
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["height"] >= 24
