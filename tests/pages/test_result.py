"""The result of a case: the decision, its reasons, the bill, and what came of it."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.pages.site import Site

VALUES = {"number": 60, "boolean": True}


@pytest.fixture
def played(site: Site) -> Any:
    """A case with a value, a refusal and a pending result, which goes on."""
    session = site.start(120, client_ref="visit-4711", stop={"certain": False})
    for outcome in ("value", "refused", "ordered", "value"):
        if session["question"] is not None:
            session = site.answer(session, outcome)
    return session


def test_a_result_is_printed_on_one_page(page: Page, site: Site, played: Any) -> None:
    for feature, value in (("chol", 240), ("sex", "male"), ("restecg", "normal")):
        given = {"feature": feature, "outcome": "value", "value": value}
        site.call("POST", f"/predict/{played['id']}/answers", {"answers": [given]})
    page.goto(f"/ui/sessions/{played['id']}/result")

    expect(page.locator("main")).to_contain_text("with 2.10 CAD for")
    sheets = re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))
    assert len(sheets) == 1
    expect(page.locator(".signed")).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.locator(".signed")).to_be_visible()


def test_the_fee_of_a_reversed_charge_is_in_the_next_one(
    page: Page, site: Site
) -> None:
    session = site.start(60, stop={"certain": False})
    charged = f"/predict/{session['id']}"
    for feature, value in (("chol", 240), ("fbs", False)):
        given = {"feature": feature, "outcome": "value", "value": value}
        # The model has no use for fbs.
        body = {"answers": [given], "insist": True}
        site.call("POST", f"{charged}/answers", body)
        if feature == "chol":
            entry = site.call("GET", f"{charged}/ledger")["items"][0]["id"]
            site.call("POST", f"/ledger/{entry}/reverse", {"reason": "spilt"})
    page.goto(f"/ui/sessions/{session['id']}/result")

    bill = page.get_by_role("region", name="Each charge, oldest first")
    expect(bill.get_by_text("with 2.10 CAD for")).to_have_count(2)
    expect(bill.get_by_text("given back")).to_have_count(1)


def test_a_case_is_downloaded_as_the_api_tells_it(page: Page, site: Site) -> None:
    session = site.start(10)
    page.goto(f"/ui/sessions/{session['id']}/result")
    with page.expect_download() as found:
        page.get_by_role("link", name="Download as JSON").click()

    assert json.loads(found.value.path().read_text()) == site.call(
        "GET", f"/predict/{session['id']}"
    )
