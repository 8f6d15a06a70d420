"""What stands on no server, in a browser: the file of `askless report`, a drawing."""

from dataclasses import fields, replace

from playwright.sync_api import Browser, Page

from askless.app.documents.files import read_model
from askless.app.pages.models.report import render_report
from askless.app.words.charts.charts import NamedCurve
from askless.app.words.charts.flow_chart import compute_layout, draw_layout
from askless.app.words.plan_words import PlanNode
from tests.pages.audit import audit
from tests.pages.hostile import MARKUP, NAMES, hostile_model


def test_a_report_keeps_nobody_out_and_fetches_nothing(browser: Browser) -> None:
    whole = read_model(hostile_model())
    first = {"hypotheses": whole.ensemble.hypotheses[:2], "alphas": (1.0, 0.5)}
    ends = {
        field.name: (value[0], value[-1])
        for field in fields(whole.curve)
        if isinstance(value := getattr(whole.curve, field.name), tuple)
    }
    curve = replace(whole.curve, **ends)
    ensemble = replace(whole.ensemble, **first)
    rows = NamedCurve("<b>.csv", replace(curve, predictive=None))
    html = render_report(replace(whole, ensemble=ensemble, curve=curve), [10**7], rows)
    context = browser.new_context(offline=True)
    page: Page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))

    page.set_content(html)
    for one in page.locator("summary").all():
        one.click()

    audit(page)
    assert asked == []
    assert page.locator("h1").all_inner_texts() == [MARKUP]
    assert page.locator("script, img, link, b").count() == 0
    context.close()


def test_all_text_stands_within_its_box(browser: Browser) -> None:
    texts = tuple(NAMES)
    nodes = [
        PlanNode(text, text, texts[:2], is_end=True, goes_on=False) for text in texts
    ]
    root = PlanNode("", "W" * 80, ("m" * 90,), False, False, tuple(nodes))
    page = browser.new_page()
    page.set_content(draw_layout(compute_layout(root), "x"))

    outside = page.evaluate(
        """() => [...document.querySelectorAll("svg g")].flatMap((group) => {
            const box = group.querySelector("rect").getBBox();
            return [...group.querySelectorAll("text")].filter((one) => {
                const its = one.getBBox();
                return its.x < box.x || its.x + its.width > box.x + box.width
                    || its.y < box.y || its.y + its.height > box.y + box.height;
            }).map((one) => one.textContent);
        })"""
    )

    assert outside == []
    page.close()
