"""The ledger: written once, reversed by entries of its own, read by what is asked."""

import csv
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy.exc import DBAPIError, IntegrityError

from askless.app.documents.sheets import quote_formula
from askless.app.records import DEFAULT_TENANT, LedgerFilter
from askless.app.service import ledger as service
from askless.app.service import models
from askless.app.store.database.engine import transaction
from tests.app.clinic import CLINIC, Answer, Json, Put, Start, clinic

pytest_plugins = ["tests.app.conftest_http"]

Reverse = Callable[..., Any]


@pytest.fixture
def reverse(client: TestClient) -> Reverse:
    def send(entry: Json, reason: Any = "The sample was lost.") -> Any:
        return client.post(f"/ledger/{entry['id']}/reverse", json={"reason": reason})

    return send


def entries(client: TestClient, **asked: Any) -> list[Json]:
    found: list[Json] = client.get("/ledger", params=asked).json()["items"]
    return found


def told(entry: Json) -> tuple[str, str, float]:
    return entry["kind"], entry["feature"], entry["amount"]


def test_reversal_is_an_entry_that_lowers_what_is_spent(
    client: TestClient, start: Start, answer: Answer, reverse: Reverse
) -> None:
    session = start(60.0)
    answer(session, ("age", 63), ("chol", 233))
    charge = entries(client)[0]

    made = reverse(charge)

    after = client.get(f"/predict/{session['id']}").json()
    assert made.status_code == 201
    assert told(made.json()) == ("reversal", "chol", 7.27)
    assert made.json()["reverses"] == charge["id"]
    assert made.json()["reason"] == "The sample was lost."
    assert after["budget"] == {
        "limit": 60.0,
        "spent": 1.0,
        "remaining": 59.0,
        "unit": "CAD",
    }
    assert [answer["charged"] for answer in after["answers"]] == [1.0, 0.0]
    assert after["version"] == 3


def test_reversed_feature_is_charged_again_with_the_fee_that_was_given_back(
    client: TestClient, start: Start, answer: Answer, reverse: Reverse
) -> None:
    session = start(60.0)
    answer(session, ("chol", 233), ("fbs", True))
    first = entries(client)[1]
    reverse(first)

    same = answer(session, ("chol", 233)).json()
    after = answer(session, ("chol", 240)).json()
    again = reverse(entries(client)[0]).json()

    assert same["budget"]["spent"] == 3.1
    assert after["budget"]["spent"] == 10.37
    assert [told(entry) for entry in entries(client)[::-1]] == [
        ("charge", "chol", 7.27),
        ("charge", "fbs", 3.1),
        ("reversal", "chol", 7.27),
        ("charge", "chol", 7.27),
        ("reversal", "chol", 7.27),
    ]
    assert (first["number"], again["number"]) == (1, 2)


@pytest.mark.parametrize("ending", ["stop", "erase"])
def test_charges_of_sessions_that_are_over_can_be_reversed(
    client: TestClient, start: Start, answer: Answer, reverse: Reverse, ending: str
) -> None:
    session = start(60.0)
    path = f"/predict/{session['id']}"
    answer(session, ("age", 63))
    client.post(f"{path}/stop") if ending == "stop" else client.delete(path)
    before = client.get(path).json()

    made = reverse(entries(client)[0])

    after = client.get(path).json()
    assert made.status_code == 201
    assert after["budget"]["spent"] == 0
    assert after["state"] == before["state"] == "closed"
    assert after["version"] > before["version"]


def test_a_charge_is_reversed_once_and_for_a_reason(
    client: TestClient, start: Start, answer: Answer, reverse: Reverse
) -> None:
    session = start(60.0)
    answer(session, ("age", 63))
    charge = entries(client)[0]

    blank = reverse(charge, "  ")
    made = reverse(charge).json()
    again, of_reversal = reverse(charge), reverse(made)
    unknown = [reverse({"id": one}).status_code for one in (9999, "x", "9" * 30)]

    assert [error["field"] for error in blank.json()["errors"]] == ["reason"]
    assert again.json()["type"] == "/problems/already-reversed"
    assert of_reversal.json()["type"] == "/problems/not-a-charge"
    assert unknown == [404, 404, 404]
    assert client.get(f"/predict/{session['id']}").json()["budget"]["spent"] == 0


@pytest.fixture
def books(
    app: FastAPI, client: TestClient, put: Put, start: Start, answer: Answer
) -> list[Json]:
    """Two sessions, of two models and days, with three charges and a reversal."""
    made = []
    for day, name in ((20, "one"), (21, "two")):
        app.state.clock = lambda day=day: datetime(
            2026, 11, day, 23, 59, 59, 999_999, tzinfo=UTC
        )
        made.append(start(60.0, model=put(clinic(), name)))
        answer(made[-1], ("age", 63), ("ecg", 1))
    charge = client.get("/ledger").json()["items"][0]
    client.post(f"/ledger/{charge['id']}/reverse", json={"reason": "twice"})
    return made


@pytest.mark.usefixtures("books")
def test_entries_are_found_by_unit_key_and_day(client: TestClient) -> None:
    def count(**asked: str) -> int:
        return len(entries(client, **asked))

    assert (count(), count(unit="CAD"), count(unit="EUR")) == (5, 5, 0)
    assert (count(**{"from": "2026-11-21"}), count(to="2026-11-20")) == (3, 2)
    assert count(**{"from": "2026-11-20"}, to="2026-11-20") == 2
    assert count(key="key_1") == 0


def test_sums_are_of_all_that_is_meant_by_unit(
    client: TestClient, books: list[Json]
) -> None:
    whole = client.get("/ledger", params={"limit": 1}).json()
    model = client.get("/ledger", params={"model": books[0]["model"]["id"]}).json()
    session = client.get(f"/predict/{books[1]['id']}/ledger").json()

    assert whole["sums"] == [
        {"unit": "CAD", "entries": 5, "charged": 33.0, "reversed": 15.5, "net": 17.5}
    ]
    assert len(whole["items"]) == 1
    assert model["sums"][0]["net"] == 16.5
    assert {item["model"] for item in model["items"]} == {books[0]["model"]["id"]}
    assert (len(session["items"]), session["sums"][0]["net"]) == (3, 1.0)


def test_books_are_sums_of_one_unit_by_day_model_and_feature(
    engine: sa.Engine, books: list[Json]
) -> None:
    with transaction(engine, DEFAULT_TENANT, is_read=True) as db:
        found = service.sum_books(db, LedgerFilter())
        none = service.sum_books(db, LedgerFilter(unit="EUR"))
        titles = models.titles(db, [book["model"]["id"] for book in books])
    with transaction(engine, "ten_other", is_read=True) as db:
        others = service.sum_books(db, LedgerFilter()), models.titles(db, titles)

    one, two = (session["model"]["id"] for session in books)
    assert (found.unit, len(found.sums)) == ("CAD", 1)
    assert [(part.common, part.net) for part in found.by_day] == [
        ("2026-11-20", 16_500_000),
        ("2026-11-21", 1_000_000),
    ]
    assert [(part.common, part.net) for part in found.by_model] == [
        (one, 16_500_000),
        (two, 1_000_000),
    ]
    assert [(part.common, part.charged) for part in found.by_feature] == [
        ("ecg", 31_000_000),
        ("age", 2_000_000),
    ]
    assert none == service.Books((), "EUR", (), (), ())
    assert titles == {one: ("one", 1), two: ("two", 1)}
    assert others == (service.Books((), "", (), (), ()), {})


def test_a_day_that_is_none_is_refused_by_name(client: TestClient) -> None:
    for day in ("2026-11-31", "20.11.2026", "1700000000", ""):
        refused = client.get("/ledger", params={"from": day})

        assert refused.status_code == 422
        assert [error["field"] for error in refused.json()["errors"]] == ["from"]


@pytest.mark.usefixtures("books")
@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_days_at_the_ends_of_the_calendar_are_days(
    client: TestClient, put: Put, day: str
) -> None:
    asked = {"from": day, "to": day}

    entries = client.get("/ledger", params=asked)
    monitors = [
        client.get(f"/models/{put()}/monitor", params=params)
        for params in (asked, {"to": day}, {"from": day})
    ]

    assert entries.json()["items"] == []
    assert [monitor.status_code for monitor in monitors] == [200, 200, 200]


@pytest.mark.usefixtures("books")
def test_pages_follow_one_another(client: TestClient) -> None:
    found, after = [], None
    while True:
        more = {} if after is None else {"after": after}
        page = client.get("/ledger", params={"limit": 2, **more}).json()
        found += page["items"]
        if (after := page["next"]) is None:
            break

    assert found == entries(client)
    for none in ("x", "1", "ses_none-1", found[0]["id"] + "9"):
        assert client.get("/ledger", params={"after": none}).status_code == 422


def test_what_is_no_id_of_an_entry_is_not_found(
    client: TestClient, charge: Json, reverse: Reverse
) -> None:
    ends = ("", "-", "-0", "-01", "-9", "-1x", "-" + "9" * 30)

    made = [reverse({"id": charge["session"] + end}) for end in ends]

    assert {response.status_code for response in made} == {404}
    assert entries(client) == [charge]


@pytest.mark.parametrize(
    "how", [{"params": {"format": "csv"}}, {"headers": {"Accept": "text/csv"}}]
)
@pytest.mark.usefixtures("books")
def test_entries_are_written_as_a_file(client: TestClient, how: Json) -> None:
    answered = client.get("/ledger", **how)

    rows = list(csv.DictReader(answered.text.splitlines()))
    assert answered.headers["content-type"] == "text/csv; charset=utf-8"
    assert len(rows) == 5
    assert (rows[0]["kind"], rows[0]["amount"]) == ("reversal", "15.500000")
    assert (rows[0]["reason"], rows[0]["key"]) == ("twice", "")


def test_no_cell_of_a_file_is_a_formula(
    client: TestClient, put: Put, start: Start, answer: Answer
) -> None:
    names = ["=1+1", "+x", "-x", "@SUM(A1)"]
    odd = [
        replace(feature, name=name)
        for feature, name in zip(CLINIC.features, names, strict=False)
    ]
    catalogue = replace(CLINIC, features=(*odd, *CLINIC.features[4:]))
    session = start(60.0, model=put(replace(clinic(), catalogue=catalogue), "odd"))
    answer(session, *((name, "ordered") for name in names))

    text = client.get("/ledger", params={"format": "csv"}).text

    found = [row["feature"] for row in csv.DictReader(text.splitlines())]
    assert found == [f"'{name}" for name in reversed(names)]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("lost; again", "lost; again"),
        ("a=1-2", "a=1-2"),
        ("lost;=HYPERLINK(1)", "lost;'=HYPERLINK(1)"),
        ('lost; "=1";@x', "lost; \"'=1\";'@x"),
        ("\uff1d1", "'\uff1d1"),
    ],
)
def test_no_part_of_a_cell_is_a_formula_where_semicolons_part_cells(
    text: str, written: str
) -> None:
    assert quote_formula(text) == written


@pytest.fixture
def charge(start: Start, answer: Answer, client: TestClient) -> Json:
    """A charge of which the database has the row."""
    answer(start(60.0), ("age", 63))
    return entries(client)[0]


def raw(charge: Json, **changes: Any) -> sa.TextClause:
    """An INSERT of a row as a charge has it, but for changes."""
    row = {
        "tenant_id": DEFAULT_TENANT,
        "session_id": charge["session"],
        "feature": "sex",
        "kind": "charge",
        "amount": 1,
        "unit": "CAD",
    } | changes
    verb = row.pop("verb", "INSERT")
    names = ", ".join(row)
    values = ", ".join(f":{name}" for name in row)
    at = "'2026-11-20 09:30:00.000000'"
    text = f"{verb} INTO ledger (at, {names}) VALUES ({at}, {values})"
    return sa.text(text).bindparams(**row)


IMPOSSIBLE: list[Json] = [
    {"feature": "age"},
    {"number": 2},
    {"feature": "age", "number": 3},
    {"kind": "reversal"},
    {"kind": "reversal", "reverses": 1, "reason": "another feature"},
    {"kind": "reversal", "reverses": 1, "feature": "age"},
    {"kind": "reversal", "reverses": 1, "reason": "less", "feature": "age"},
    {"reverses": 1, "reason": "a charge reverses nothing"},
]


def test_the_database_refuses_what_is_no_charge_or_reversal(
    engine: sa.Engine, charge: Json, client: TestClient
) -> None:
    for changes in IMPOSSIBLE:
        with pytest.raises(IntegrityError), transaction(engine, None) as db:
            db.execute(raw(charge, **changes))

    assert entries(client) == [charge]


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_sqlite_replaces_no_entry(
    engine: sa.Engine, charge: Json, client: TestClient
) -> None:
    for verb in ("INSERT OR REPLACE", "REPLACE", "INSERT OR IGNORE"):
        for changes in ({"id": 1}, {"feature": "age"}):
            with (
                pytest.raises(IntegrityError, match="append-only"),
                transaction(engine, None) as db,
            ):
                db.execute(raw(charge, verb=verb, **changes))

    assert entries(client) == [charge]


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_sqlite_takes_no_text_for_an_amount(engine: sa.Engine, charge: Json) -> None:
    with (
        pytest.raises(IntegrityError, match="cannot store TEXT"),
        transaction(engine, None) as db,
    ):
        db.execute(raw(charge, amount="much"))


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_postgresql_truncates_no_entries(engine: sa.Engine) -> None:
    with (
        pytest.raises(DBAPIError, match="append-only"),
        transaction(engine, None) as db,
    ):
        db.execute(sa.text("TRUNCATE ledger CASCADE"))
