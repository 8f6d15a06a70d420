"""The ledger and the monitor: figures, what is chosen, and charges taken back."""

import csv
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.pages.accounts.ledger import sum_by_month
from askless.app.records import LedgerSum
from tests.app.clinic import Answer, Put, Start
from tests.app.test_doubts import ranged
from tests.pages.site import post

pytest_plugins = ["tests.app.conftest_http"]


def on_day(app: FastAPI, day: int) -> None:
    app.state.clock = lambda: datetime(2026, 11, day, 9, tzinfo=UTC)


@pytest.fixture
def model(
    app: FastAPI, client: TestClient, put: Put, start: Start, answer: Answer
) -> str:
    """A model with two closed sessions of two days, and one outcome."""
    made = put(ranged(), "<b>watched</b>")
    for day in (16, 24):
        on_day(app, day)
        session = start(60.0, model=made)
        answer(session, ("sex", "refused"), ("age", 63))
        client.post(f"/predict/{session['id']}/stop")
    client.put(f"/predict/{session['id']}/outcome", json={"label": "1"})
    return made


def cells(page: str, caption: str) -> list[list[str]]:
    """Return the rows of the first table of a caption, without the marks of HTML."""
    found = page.split(f"<caption>{caption}")[1].split("<tbody>")[1]
    rows = found.split("</tbody>")[0].split("</tr>")[:-1]
    return [
        [
            re.sub("<[^>]*>", "", one).strip()
            for one in re.findall("<t[hd].*?>(.*?)</t[hd]>", row, re.S)
        ]
        for row in rows
    ]


def reverse(client: TestClient, number: str, reason: str) -> Any:
    return post(client, f"/ui/ledger/{number}/reverse", reason=reason)


def test_the_ledger_says_what_was_spent_by_day_model_and_feature(
    client: TestClient, model: str
) -> None:
    page = client.get("/ui/ledger").text
    one_day = client.get("/ui/ledger?from=2026-11-24&unit=CAD").text
    none = client.get("/ui/ledger?unit=EUR").text

    assert cells(page, "By unit")[0] == ["CAD", "2", "2.00", "0.00", "2.00"]
    assert [cell[0] for cell in cells(page, "Spend by day in CAD")] == [
        "2026-11-16",
        "2026-11-24",
    ]
    (by_model,) = cells(page, "Spend by model in CAD")
    assert by_model[0].startswith("&lt;b&gt;watched")
    assert cells(page, "Spend by feature in CAD") == [
        ["Age", "2", "2.00", "0.00", "2.00"]
    ]
    assert "There are fewer than three days, so there is no chart." in page
    assert "Chart: Spend" not in page
    assert "24 Nov 09:00, " in cells(page, "Newest first")[0][4]
    assert f"/ui/ledger?model={model}" in page
    assert len(cells(one_day, "Newest first")) == 1
    assert "No entry is like this" in none


def test_what_is_wrong_is_said_in_the_order_of_the_fields(client: TestClient) -> None:
    page = client.get("/ui/ledger?key=y&from=x").text

    assert re.findall(r'<a href="#f-(\w+)">', page) == ["from", "key"]
    assert client.get("/ui/ledger/ledger.csv?key=y").status_code == 422


@pytest.mark.usefixtures("model")
def test_the_file_has_what_was_chosen(client: TestClient) -> None:
    whole = client.get("/ui/ledger/ledger.csv")
    some = client.get("/ui/ledger/ledger.csv?to=2026-11-16").text

    assert whole.text == client.get("/ledger?format=csv").text
    assert whole.headers["cache-control"] == "no-store"
    assert len(some.splitlines()) == 2


@pytest.mark.usefixtures("model")
def test_a_charge_is_taken_back_once_with_a_reason(client: TestClient) -> None:
    charge = client.get("/ledger").json()["items"][-1]["id"]
    blank = reverse(client, charge, " ")
    done = reverse(client, charge, "The sample was <lost>.")
    after = client.get(done.headers["location"]).text
    again = reverse(client, charge, "again")
    shown = client.get(f"/ui/ledger/{charge}/reverse").text

    assert blank.status_code == 422
    assert 'id="f-reason-error"' in blank.text
    assert done.status_code == 303
    assert "The charge is reversed." in after
    assert "The sample was &lt;lost&gt;." in after
    assert cells(after, "By unit")[0] == ["CAD", "2", "1.00", "1.00", "0.00"]
    assert again.status_code == 409
    assert "<button class=" not in shown.split("<main")[1]


def test_money_that_came_back_on_a_later_day_is_shown_as_less(
    client: TestClient, app: FastAPI, model: str
) -> None:
    on_day(app, 25)
    charge = client.get("/ledger").json()["items"][-1]["id"]
    reverse(client, charge, "The sample was lost.")

    page = client.get(f"/ui/ledger?from=2026-11-25&model={model}").text

    assert cells(page, "By unit")[0] == ["CAD", "1", "0.00", "1.00", "−1.00"]


def test_three_days_have_a_chart(
    client: TestClient, app: FastAPI, model: str, start: Start, answer: Answer
) -> None:
    on_day(app, 25)
    answer(start(60.0, model=model), ("age", 50))

    page = client.get("/ui/ledger").text

    assert "Chart: Spend by day" in page
    assert "fewer than three days" not in page


def test_months_are_sums_of_their_days() -> None:
    days = [
        LedgerSum("CAD", 1, 5, 0, "2026-10-31"),
        LedgerSum("CAD", 2, 7, 1, "2026-11-01"),
        LedgerSum("CAD", 1, 3, 2, "2026-11-30"),
    ]

    assert sum_by_month(days) == (
        LedgerSum("CAD", 1, 5, 0, "2026-10"),
        LedgerSum("CAD", 3, 10, 3, "2026-11"),
    )


def test_a_monitor_says_what_its_figures_rest_on(
    client: TestClient, model: str
) -> None:
    page = client.get(f"/ui/models/{model}/monitor").text
    api = client.get(f"/models/{model}/monitor").json()
    told = client.get(f"/ui/models/{model}/monitor.csv").text
    rows = list(csv.DictReader(told.splitlines()))

    assert [cell[:3] for cell in cells(page, "Error by week")] == [
        ["16 November 2026", "1", "0"],
        ["23 November 2026", "1", "1"],
    ]
    assert [cell[:3] for cell in cells(page, "Mean spend (CAD) by week")] == [
        ["16 November 2026", "1", "1"],
        ["23 November 2026", "1", "1"],
    ]
    assert "on 1 outcomes" in page
    assert cells(page, "What came of questions")[1][:2] == ["sex", "2"]
    (error,) = [row for row in rows if row["figure"] == "error" and row["value"]]
    last = api["buckets"][-1]
    assert (error["start"], error["cases"]) == (last["start"], "1")
    assert float(error["value"]) == last["error"]["value"]
    spends = [float(row["value"]) for row in rows if row["figure"] == "mean_spend"]
    assert spends == [bucket["mean_spend"] for bucket in api["buckets"]]
