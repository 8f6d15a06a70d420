"""Two models side by side, and what keeps them apart."""

from typing import Any

from fastapi.testclient import TestClient

from tests.pages.site import heart
from tests.pages.test_models import bring

PAGE = "/ui/models/compare"


def compare(client: TestClient, **changes: Any) -> tuple[int, str]:
    """Compare the model of `heart.json` with one that differs from it."""
    sides = {"a": bring(client), "b": bring(client, **changes)}
    got = client.get(PAGE, params=sides)
    return got.status_code, got.text


def worse() -> dict[str, Any]:
    """Return a curve that errs in all cases, of as many rows."""
    curve = heart()["curve"]
    return curve | {"errors_calibrated": [1.0] * len(curve["errors"])}


def renamed(*names: str) -> list[dict[str, Any]]:
    """Return the classes of `heart.json` with other names."""
    pairs = zip(heart()["classes"], names, strict=True)
    return [known | {"display": name} for known, name in pairs]


def test_models_stand_on_one_chart_beside_a_table(client: TestClient) -> None:
    status, page = compare(client, name="other", curve=worse())

    assert status == 200
    assert page.count("<svg") == 1
    assert "100.0 % (99–100)" in page
    assert "other, version 1" in page
    assert "+54.1 (" in page
    assert "on the same table is not known" in page


def test_page_asks_which_models(client: TestClient) -> None:
    assert "takes two models" in client.get(PAGE).text
    first, _ = bring(client), bring(client)

    page = client.get(f"{PAGE}?a={first}").text

    # The second model is another one.
    assert page.count("heart-cleveland, version") == 3
    assert f'value="{first}" selected' in page


def test_verdict_stands_on_top(client: TestClient) -> None:
    _, sure = compare(client, name="other", curve=worse())
    _, same = compare(client)
    curve = heart()["curve"]
    near = [error + 0.01 for error in curve["errors_calibrated"]]
    _, chance = compare(client, curve=curve | {"errors_calibrated": near})

    assert "version 1 errs less without a limit (17 % to 100 %), unlikely" in sure
    assert "Both err equally without a limit (17 %)." in same
    assert "(17 % to 18 %), hardly more than chance." in chance


def test_only_models_that_can_be_compared_are_offered(client: TestClient) -> None:
    first, second = bring(client), bring(client)
    euros, bare = bring(client, cost_unit="EUR"), bring(client, curve=None)
    loans = bring(client, name="loans", classes=renamed("paid", "late"))

    for query in ("", f"?a={first}"):
        page = client.get(PAGE + query).text
        assert f'value="{second}"' in page
        assert f'value="{euros}"' not in page
        assert f'value="{bare}"' not in page
        assert f'value="{loans}"' not in page


def test_a_label_without_a_name_may_be_any_class(client: TestClient) -> None:
    bare, loud = renamed("0", "1"), renamed("No disease", "DISEASE")

    for classes in (bare, loud):
        status, page = compare(client, classes=classes)
        assert status == 200
        assert "Both err equally" in page


def test_facts_that_are_equal_are_left_out(client: TestClient) -> None:
    status, page = compare(client, card=heart()["card"] | {"note": "Another price."})

    rows = page.split("<h2>What differs</h2>")[1]
    assert status == 200
    assert "Another price." in rows
    assert rows.count('<th scope="row">') == 1


def test_what_can_not_be_compared_is_refused(client: TestClient) -> None:
    first = bring(client)
    others: list[tuple[str, dict[str, Any]]] = [
        (
            "predicts no disease or disease (Heart disease, column other).",
            {"target": "other"},
        ),
        (
            "predicts slow or fast (Heart disease, column label).",
            {"classes": renamed("slow", "fast")},
        ),
        ("has prices in EUR.", {"cost_unit": "EUR"}),
    ]

    for rule, changes in others:
        sides = {"a": first, "b": bring(client, **changes)}
        got = client.get(PAGE, params=sides)
        assert got.status_code == 422
        assert "There is no verdict between these two: heart-cleveland" in got.text
        assert rule in got.text
        assert "<svg" not in got.text
    got = client.get(PAGE, params={"a": first, "b": bring(client, curve=None)})
    assert (got.status_code, got.text.count("has no curve")) == (422, 2)
    got = client.get(f"{PAGE}?a={first}&b={first}")
    assert got.status_code == 422
    assert "must be another model" in got.text
    assert client.get(f"{PAGE}?a={first}&b=mdl_none").status_code == 404


def test_models_may_be_named(client: TestClient) -> None:
    first, second = bring(client), bring(client)

    page = client.get(f"{PAGE}?a=heart-cleveland@1&b=heart-cleveland").text

    assert "Both err equally" in page
    for model in (first, second):
        assert f'value="{model}" selected' in page
