"""The form that a training is ordered by: drafted, priced, checked, sent."""

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.pages.visits import Html

TABLE = "age,chol,kind,ill\n" + "".join(
    f"{30 + row % 9},{200 + row % 11},{'abc'[row % 3]},{row % 2}\n" for row in range(40)
)
HOSTILE = '<script>alert(1)</script>, "' + "x" * 300


def fields_of(page: str) -> dict[str, str]:
    """Return what the form that orders a training holds."""
    orders = (form for form in Html(page).forms if form.action == "/ui/train/new")
    return next(form.fields for form in orders if form.method == "post")


def put(client: TestClient, content: str) -> str:
    """Upload a table, the short way; return the address of its form but the target."""
    made = client.post(
        "/datasets",
        files={"dataset": ("visits.csv", content.encode())},
        headers={"Accept": "application/json"},
    )
    return f"/ui/train/new?dataset={made.json()['id']}"


def send(client: TestClient, fields: dict[str, str], action: str, **more: str) -> Any:
    return client.post("/ui/train/new", data={**fields, **more, "action": action})


def summary(page: str) -> str:
    found = re.search(r'<div class="summary".*?</div>', page, re.DOTALL)
    return found[0] if found else ""


def test_a_table_is_priced_checked_and_trained_on_once(client: TestClient) -> None:
    address = put(client, TABLE)
    chosen = client.get("/ui/train/new").text
    asked = client.get(address).text
    fields = fields_of(client.get(f"{address}&target=ill").text)
    prices = "feature\tcost\tgroup\tfee\nage\t0\t\t\nchol\t7.27\tblood\t2.10\n"
    shown = send(client, fields, "fill", prices=prices).text
    filled = fields_of(shown)
    # A box that is not ticked is not sent.
    del filled["same_cost"]
    unpriced = send(client, filled, "start")
    filled["same_cost"] = "yes"
    checked = send(client, filled, "check")
    saved = send(client, filled, "save", cost_unit="CAD")
    started = [send(client, filled, "start").headers["location"] for _ in range(2)]
    edited = send(client, filled, "start", rounds="20").headers["location"]

    assert address.replace("&", "&amp;") in chosen
    assert '<option value="ill" selected>' in asked
    assert (filled["c1-cost"], filled["c1-group"]) == ("7.27", "blood")
    assert (filled["g0-name"], filled["g0-amount"]) == ("blood", "2.1")
    assert "1 price is missing" in shown
    assert unpriced.status_code == 422
    assert 'href="#f-c2_2d_cost"' in unpriced.text
    assert "Ready to train: 40 rows, 3 features" in checked.text
    assert saved.json()["groups"] == [{"name": "blood", "fee": 2.1}]
    assert saved.json()["cost_unit"] == "CAD"
    assert started[0] == started[1] != edited
    shown = client.get(started[0], headers={"Accept": "text/html"})
    assert "visits" in shown.text


@pytest.mark.parametrize(
    ("algorithm", "is_told"), [("auto", True), ("adaboost", False)]
)
def test_check_tells_where_missing_values_are_information(
    client: TestClient, algorithm: str, is_told: bool
) -> None:
    address = put(client, TABLE.replace("30,200,", ",200,"))
    fields = fields_of(client.get(f"{address}&target=ill").text)

    told = send(client, fields, "check", algorithm=algorithm, same_cost="yes")

    note = "Missing values say nothing in age (1 of 40 rows)."
    assert (note in told.text) == is_told


def test_each_wrong_field_is_told_and_all_that_was_typed_is_kept(
    client: TestClient,
) -> None:
    address = put(client, TABLE)
    fields = fields_of(client.get(f"{address}&target=ill").text)
    wrong = {
        "c0-cost": HOSTILE,
        "c1-group": HOSTILE[:100],
        "c2-type": "number",
        "rounds": "many",
        "folds": "1",
    }

    got = send(client, fields, "start", **wrong)

    assert got.status_code == 422
    told = summary(got.text)
    for field in ("c0_2d_cost", "c1_2d_group", "c2_2d_type", "rounds", "folds"):
        assert f'href="#f-{field}"' in told, field
    assert "alert(1)</script>" not in got.text.replace("&lt;", "<x")
    kept = fields_of(got.text)
    assert {one: kept[one] for one in wrong} == wrong
    # The group has a row now, in which it can be priced.
    assert kept["g0-name"] == wrong["c1-group"]
    assert send(client, fields, "save", rounds="many").status_code == 422


def test_a_spec_may_be_pasted_instead(client: TestClient) -> None:
    address = put(client, TABLE)
    fields = fields_of(client.get(f"{address}&target=ill").text)
    spec = send(client, fields, "save", same_cost="yes").text
    few = {one: fields[one] for one in ("form_token", "dataset", "target", "once")}

    checked = send(client, few, "check-spec", spec=spec)
    wrong = send(client, few, "check-spec", spec=spec.replace('"number"', '"date"'))
    started = send(client, few, "start-spec", spec=spec)

    assert "Ready to train" in checked.text
    assert fields_of(checked.text)["c2-type"] == "category"
    assert wrong.status_code == 422
    assert "features[0].type" in summary(wrong.text)
    assert started.status_code == 303


@pytest.mark.parametrize(
    ("content", "target", "said"),
    [
        (TABLE, "nobody", "must be a column of the table"),
        ("a,b\n1,2\n1,2\n", "b", "must have 2 to 1000 classes"),
    ],
)
def test_what_cannot_be_predicted_is_told_at_the_column(
    client: TestClient, content: str, target: str, said: str
) -> None:
    got = client.get(f"{put(client, content)}&target={target}")

    assert got.status_code == 422
    assert said in summary(got.text)
