"""The parts of pages, all on one page that only tests have, with hostile names."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from jinja2 import ChoiceLoader, FileSystemLoader
from playwright.sync_api import Page, Route, expect

from askless.app.documents.model.model import model_from_json
from askless.app.pages.plumbing import filters, frame
from askless.app.pages.plumbing.environment import load_environment
from askless.app.words.charts.charts import NamedCurve, draw_curves
from tests.pages.audit import audit
from tests.pages.site import heart

HOSTILE = (
    "Serum <script>alert(1)</script> & \"quotes\" 'of' {{ 7 * 7 }}",
    "مستوى السكر <b> \u202e desrever",
    "x" * 300,
)


def chart() -> str:
    model = model_from_json(heart())
    assert model.curve is not None
    return draw_curves([NamedCurve(HOSTILE[0], model.curve)], "CAD")


@pytest.fixture
def show(page: Page) -> Callable[[str], None]:
    """Show the parts with a name; the rest of the page comes from the server."""

    def open_parts(odd: str) -> None:
        made = load_environment().overlay(
            loader=ChoiceLoader(
                [load_environment().loader, FileSystemLoader(Path(__file__).parent)]
            )
        )
        text = made.get_template("parts.html").render(
            odd=odd,
            errors={"budget": "must be at least 0", odd: "must be a number"},
            typed={"budget": odd, "outcome": "refused"},
            svg=chart(),
            at=datetime(2026, 3, 4, 15, 16, tzinfo=UTC),
            navigation=[("Home", "/ui", True), ("Models", "/ui/models", False)],
            is_signed_in=True,
            form_token="0",
            note=odd,
            is_demo_note=False,
        )

        def answer(route: Route) -> None:
            route.fulfill(
                body=text, headers={**frame.HEADERS, "Content-Type": "text/html"}
            )

        page.route("**/ui/parts", answer)
        page.goto("/ui/parts")

    return open_parts


@pytest.mark.parametrize("odd", HOSTILE, ids=["markup", "direction", "long"])
def test_parts_keep_nobody_out_whatever_names_are(
    page: Page, show: Callable[[str], None], odd: str
) -> None:
    show(odd)
    page.locator("summary").click()

    audit(page)
    assert page.locator("main script").count() == 0
    assert page.locator("h1").inner_text() == odd


def test_the_audit_sees_what_keeps_people_out(page: Page) -> None:
    page.goto("/ui/sign-in")
    page.evaluate("document.querySelector('label').remove()")
    page.evaluate("document.querySelector('main p').style.color = '#333'")
    page.evaluate("document.querySelector('h1').style.width = '500px'")

    with pytest.raises(AssertionError) as caught:
        audit(page)

    told = str(caught.value)
    seen = ("light: label", "dark: color-contrast", "px wider")
    assert all(text in told for text in seen)


def test_an_error_is_tied_to_its_field(page: Page, show: Callable[[str], None]) -> None:
    show(HOSTILE[0])
    expect(page.get_by_role("alert")).to_be_focused()
    page.get_by_role("link", name="budget").click()

    field = page.get_by_label("Budget", exact=True)
    expect(field).to_be_focused()
    expect(field).to_have_accessible_description(
        "At most what one case may cost. Error: must be at least 0"
    )
    expect(field).to_have_value(HOSTILE[0])


def test_a_chart_looks_alike_without_a_style_in_it(
    page: Page, show: Callable[[str], None]
) -> None:
    show("chart")
    line = page.locator("figure polyline[stroke^='var(--series-1)']").first
    stroke = "one => getComputedStyle(one).stroke"
    width = page.locator("figure text").first.evaluate(
        "one => getComputedStyle(one).fontSize"
    )

    assert line.evaluate(stroke) == "rgb(31, 95, 168)"
    page.emulate_media(color_scheme="dark")
    assert line.evaluate(stroke) == "rgb(125, 180, 242)"
    assert width == "13px"


def test_a_chart_brings_no_style_and_no_script() -> None:
    shown = filters.mark_chart_safe(chart())

    assert not re.search(r"<style|\sstyle=|<script", shown)
    assert "&lt;script&gt;" in shown


@pytest.mark.parametrize(
    ("amount", "unit", "words"),
    [
        (10.27, "CAD", "10.27 CAD"),
        (0, None, "0.00"),
        (0.000001, "", "0.000001"),
        (-5.5, "CAD", "−5.50 CAD"),
        (3_999_999_999.000001, "", "3,999,999,999.000001"),
    ],
)
def test_amounts_are_written_exactly(amount: float, unit: str, words: str) -> None:
    assert filters.format_money(amount, unit) == words


@pytest.mark.parametrize(
    ("amount", "words"), [(30.920833, "30.92"), (0.001234, "0.00123"), (0, "0.00")]
)
def test_means_are_written_to_the_cent_where_that_says_enough(
    amount: float, words: str
) -> None:
    assert filters.format_mean(amount) == words


def test_identifiers_of_two_names_differ() -> None:
    names = ["a b", "a_b", "a-b", "ab", "a_20_b", "é", "e"]

    made = {filters.to_html_id(name) for name in names}

    assert len(made) == len(names)
    assert all(re.fullmatch(r"\w+", one, re.A) for one in made)
