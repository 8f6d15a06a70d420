"""The file of `askless report`, in a browser without a network."""

from dataclasses import replace

from playwright.sync_api import Browser, Page

from app.charts import NamedCurve
from app.documents.files import read_model
from app.terminal.report import report_page
from tests.pages.audit import audit
from tests.pages.hostile import hostile_model


def test_a_report_keeps_nobody_out_and_fetches_nothing(browser: Browser) -> None:
    whole = read_model(hostile_model())
    first = {"hypotheses": whole.ensemble.hypotheses[:2], "alphas": (1.0, 0.5)}
    curve = replace(whole.curve, predictive=None)
    model = replace(whole, ensemble=replace(whole.ensemble, **first))
    html = report_page(model, [60_000_000], NamedCurve("<b>.csv", curve))
    context = browser.new_context(offline=True)
    page: Page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))

    page.set_content(html)
    for one in page.locator("summary").all():
        one.click()

    audit(page)
    assert asked == []
    assert page.locator("h1").count() == 1
    assert page.locator("script, img, link").count() == 0
    context.close()
