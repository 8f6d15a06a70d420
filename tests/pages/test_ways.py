"""Pages without a mouse, on paper, in forced colours, and with motion reduced."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.pages.site import Site

FOCUSED = """() => {
  const one = document.activeElement, box = one.getBoundingClientRect();
  const style = getComputedStyle(one);
  const isInside = box.bottom > 0 && box.top < innerHeight && box.right > 0;
  const words = one.labels?.[0]?.innerText ?? one.innerText ?? "";
  return {
    words: words.trim(), isInside, isBody: one === document.body,
    width: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth),
  };
}"""
CUT = """all => all.filter((one) => one.scrollWidth > one.clientWidth).map(
  (one) => [one.ariaLabel, one.scrollWidth, one.clientWidth])"""
MOVING = """() => [...document.querySelectorAll("*")].filter((one) => {
  const style = getComputedStyle(one);
  return parseFloat(style.transitionDuration) || style.animationName !== "none";
}).length"""


def tab_to(page: Page, words: str) -> None:
    """Press Tab until the focus is there; on its way one can always see where it is."""
    for _ in range(60):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUSED)
        if found["isBody"]:
            continue
        assert found["width"] >= 2, found
        assert found["isInside"], found
        if found["words"].partition("\n")[0] == words:
            return
    raise AssertionError(f"Tab leads to no {words}")


def press(page: Page, words: str, key: str = "Enter") -> None:
    tab_to(page, words)
    page.keyboard.press(key)


def test_a_case_is_played_by_keys_alone(page: Page, site: Site) -> None:
    page.emulate_media(reduced_motion="reduce")
    keys = page.keyboard
    page.goto(f"/ui/sessions/new?model={site.model_id}")
    tab_to(page, "Budget")
    keys.press("Control+A")
    keys.type("60")
    press(page, "What is already known (12 features, free)")
    tab_to(page, "Age")
    keys.type("63")
    press(page, "Start")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Ask: ")
    press(page, "Refused", "Space")
    expect(page.get_by_role("cell", name="refused")).to_be_visible()
    press(page, "Change the budget")
    tab_to(page, "Budget")
    keys.press("Control+A")
    keys.type("many")
    keys.press("Enter")
    expect(page.get_by_role("alert")).to_be_focused()
    press(page, "Budget")
    expect(page.get_by_label("Budget", exact=True)).to_be_focused()
    keys.press("Control+A")
    keys.type("80")
    keys.press("Enter")
    expect(page.get_by_text("80.00 CAD left")).to_be_visible()
    press(page, "Stop here")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(page.get_by_role("heading", name="The bill")).to_be_visible()


@pytest.mark.parametrize("page_of", ["result", "model", "plan"])
def test_on_paper_nothing_is_cut_off(page: Page, site: Site, page_of: str) -> None:
    session = site.start(300, stop={"certain": False})
    for outcome in ("value", "refused", "value"):
        session = site.answer(session, outcome)
    model = f"models/{site.model_id}"
    result = f"sessions/{session['id']}/result"
    addresses = {"model": model, "plan": f"{model}/plan", "result": result}
    page.goto(f"/ui/{addresses[page_of]}")
    # A4 with margins of 2 cm, at 96 dots an inch.
    page.set_viewport_size({"width": 642, "height": 970})
    page.emulate_media(media="print", color_scheme="dark")

    assert page.locator(":is(.scroll, html)").evaluate_all(CUT) == []
    assert page.locator(":is(form, nav[aria-label=Main]):visible").count() == 0
    ink = page.locator("h1").evaluate("one => getComputedStyle(one).color")
    assert ink == "rgb(27, 31, 36)"


def test_a_result_is_printed_on_one_page(page: Page, site: Site) -> None:
    session = site.start(120, stop={"certain": False})
    for outcome in ("value", "refused", "ordered", "value"):
        if session["question"] is not None:
            session = site.answer(session, outcome)
    for feature, value in (("chol", 240), ("sex", "male"), ("restecg", "normal")):
        given = {"feature": feature, "outcome": "value", "value": value}
        site.call("POST", f"/predict/{session['id']}/answers", {"answers": [given]})
    page.goto(f"/ui/sessions/{session['id']}/result")

    expect(page.locator("main")).to_contain_text("with 2.10 CAD for")
    sheets = re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))
    assert len(sheets) == 1
    expect(page.locator(".signed")).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.locator(".signed")).to_be_visible()


def test_the_keyboard_skips_to_the_content(page: Page) -> None:
    page.goto("/ui")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator("main")).to_be_focused()


def test_who_wants_no_motion_sees_none(page: Page) -> None:
    page.goto("/ui")
    before = page.evaluate(MOVING)
    page.emulate_media(reduced_motion="reduce")

    assert before > 0
    assert page.evaluate(MOVING) == 0


def test_where_one_is_shows_in_forced_colours(page: Page) -> None:
    page.emulate_media(forced_colors="active")
    page.goto("/ui")
    colour = "one => getComputedStyle(one).borderBottomColor"
    here = page.get_by_role("link", name="Home").evaluate(colour)
    there = page.get_by_role("link", name="Models", exact=True).evaluate(colour)

    assert here != there
