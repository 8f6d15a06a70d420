"""The form that starts a case: its budget, its chart, and what is already known."""

import re
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Page, expect

from askless.app.documents.model.model import model_to_json
from askless.app.pages.cases.start import (
    parse_confidence,
    parse_money,
    parse_rate,
    sort_by_use,
)
from askless.core.catalogue.prices import to_micros
from askless.core.errors import RefusedError
from askless.core.model.model import Model
from tests.pages.site import Site


def form_of(client: TestClient, model: Model) -> str:
    client.post("/models?as_version=true", json=model_to_json(model))
    id = client.get("/models").json()["items"][0]["id"]
    return str(client.get(f"/ui/sessions/new?model={id}").text)


def test_budget_is_the_knee_of_the_curve(client: TestClient, model: Model) -> None:
    page = form_of(client, model)

    assert re.search('name="budget"[^>]* value="300"', page)
    assert "Differences below 5 percentage points are within chance here." in page
    assert "Without a limit" not in page


def test_error_without_a_limit_is_told_where_no_limit_comes_near(
    client: TestClient, model: Model
) -> None:
    curve = model.curve
    assert curve is not None
    errors = (*curve.errors_calibrated[:-1], 0.02)

    page = form_of(
        client, replace(model, curve=replace(curve, errors_calibrated=errors))
    )

    assert re.search('name="budget"[^>]* value="300"', page)
    assert "Without a limit 2 % are wrong." in page


@pytest.mark.parametrize(
    ("typed", "micros"), [("12,50", 12_500_000), ("12.5", 12_500_000), ("0", 0)]
)
def test_an_amount_may_have_a_decimal_comma(typed: str, micros: int) -> None:
    assert to_micros(parse_money(typed)) == micros


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        ("1e3", "must be an amount such as 12.50"),
        ("", "must be an amount such as 12.50"),
        ("1,234", "may be two numbers: type 1234, as tables read it, or 1.234"),
        ("1,2.3.4", "must be typed without a sign between thousands"),
    ],
)
def test_what_is_no_amount_is_refused_with_what_to_type(typed: str, rule: str) -> None:
    with pytest.raises(RefusedError) as refused:
        parse_money(typed)

    assert refused.value.refusals[0].rule.startswith(rule)


def test_shares_are_typed_in_percent_with_a_comma_or_a_point() -> None:
    assert parse_confidence("62,5") == parse_confidence("62.5") == 0.625
    assert (parse_rate("2,5"), parse_rate("0")) == (0.025, 0.0)


def test_without_a_curve_no_budget_is_advised(client: TestClient, model: Model) -> None:
    page = form_of(client, replace(model, curve=None))

    assert re.search('name="budget"[^>]* value=""', page)
    assert "within chance" not in page


def test_features_that_are_never_read_are_left_out(
    client: TestClient, model: Model
) -> None:
    page = form_of(client, model)
    catalogue, is_used = model.ensemble.catalogue, model.ensemble.is_used
    named = set(re.findall(r'name="known\.(\w+)"', page))

    unread = {
        feature.name
        for feature, used in zip(catalogue.features, is_used, strict=True)
        if not used
    }
    assert len(unread) == 1
    assert named == {feature.name for feature in catalogue.features} - unread
    assert "1 that the model never reads is left out" in page


def test_what_is_asked_most_comes_first(model: Model) -> None:
    curve = model.curve
    assert curve is not None
    assert curve.purchases is not None
    asked = [sum(one) for one in zip(*curve.purchases, strict=True)]
    idx_of = model.ensemble.catalogue.feature_idxs

    shares = [asked[idx_of[one.name]] for one in sort_by_use(model)]
    plain = sort_by_use(replace(model, curve=None))

    assert shares == sorted(shares, reverse=True)
    order = [idx_of[one.name] for one in plain]
    assert order == sorted(order)


def test_a_search_leaves_the_fields_with_its_words(page: Page, site: Site) -> None:
    page.goto(f"/ui/sessions/new?model={site.model_id}")
    page.get_by_text("What is already known").click()
    page.get_by_label("Search").fill("CHOL")

    expect(page.get_by_label("Serum cholesterol")).to_be_visible()
    expect(page.get_by_label("Age")).to_be_hidden()
