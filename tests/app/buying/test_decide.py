"""`askless decide`: a whole file is bought for without a service, and goes on."""

import csv
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from askless.app import cli
from askless.app.buyer.journal import OpenRuns
from askless.app.service.buying.listing import Decision
from askless.app.settings.settings import Settings
from askless.core.errors import RefusedError
from tests.app.buying.conftest import DOMAINS, READS, shop
from tests.app.buying.vendors import Vendors, fails, late
from tests.app.clinic import model_json

RESULT = "decisions.csv"


pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def folder(
    tmp_path: Path,
    vendors: Vendors,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A folder with a model, providers and ten cases."""
    monkeypatch.delenv("ASKLESS_TEST_ENGINES", raising=False)
    monkeypatch.setenv("ASKLESS_PROVIDER_HOSTS", json.dumps(settings.provider_hosts))
    monkeypatch.chdir(tmp_path)
    Path("model.json").write_text(json.dumps(model_json(shop(), "shop")))
    providers = {name: vendors.provider(name, read) for name, read in READS.items()}
    Path("providers.json").write_text(json.dumps(providers))
    with Path("cases.csv").open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["domain", "source"])
        writer.writerows([domain, "fair"] for domain in DOMAINS[:10])
    return tmp_path


def decide(*more: str) -> int:
    """Run the command; return what it exits with."""
    arguments = ["model.json", "cases.csv", "--providers", "providers.json"]
    try:
        cli.command_line(
            ["decide", *arguments, "--budget", "1", "-o", RESULT, *more],
            standalone_mode=False,
        )
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def read_result() -> list[dict[str, str]]:
    with Path(RESULT).open() as file:
        return list(csv.DictReader(file))


def test_a_file_is_decided_for_what_the_vendors_bill(vendors: Vendors) -> None:
    assert decide() == 0

    rows = read_result()
    assert [row["domain"] for row in rows] == DOMAINS[:10]
    spent = {row["domain"]: round(1e6 * float(row["spend"])) for row in rows}
    assert spent == vendors.bill_by_case()
    assert {row["stop_reason"] for row in rows} <= {
        "all_known",
        "plan_complete",
        "certain",
    }


def test_a_second_time_nothing_is_bought(vendors: Vendors) -> None:
    decide()
    billed, first = len(vendors.bill), Path(RESULT).read_bytes()

    decide()

    assert len(vendors.bill) == billed
    assert Path(RESULT).read_bytes() == first


def test_another_order_does_not_take_over_a_journal(vendors: Vendors) -> None:
    decide()
    billed = len(vendors.bill)
    with Path("cases.csv").open("a") as file:
        file.write("other.example,web\n")

    with pytest.raises(Exception, match="cases differ"):
        decide()

    assert len(vendors.bill) == billed


def test_a_ceiling_holds_across_the_file(vendors: Vendors) -> None:
    providers = json.loads(Path("providers.json").read_text())
    providers["score"]["ceilings"] = {"day": 1.5}
    Path("providers.json").write_text(json.dumps(providers))
    vendors.script("score", *[late(0.1)] * 10)

    decide("--at-once", "10")

    assert vendors.bill_by_vendor()["score"] == 1_200_000


def test_cases_that_went_on_without_a_provider_are_counted(
    vendors: Vendors, capsys: pytest.CaptureFixture[str]
) -> None:
    vendors.script("score", fails(429))

    decide("--at-once", "1")

    rows = read_result()
    assert [row["left_out"] for row in rows] == ["", *["score"] * 9]
    assert "9 cases went on without score" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"request": {"url": "https://elsewhere.example/"}}, "ASKLESS_PROVIDER_HOSTS"),
        ({"request": {"json": {"id": "{key.vat}"}}}, "vat"),
    ],
)
def test_what_cannot_be_called_is_named_before_anything_is_bought(
    vendors: Vendors, change: dict[str, Any], rule: str
) -> None:
    providers = json.loads(Path("providers.json").read_text())
    providers["score"]["request"] |= change["request"]
    Path("providers.json").write_text(json.dumps(providers))

    with pytest.raises(Exception, match=rule):
        decide()

    assert vendors.bill == []
    assert not Path(RESULT).exists()


def test_seconds_and_a_deadline_are_terms_of_each_case(vendors: Vendors) -> None:
    for name in READS:
        vendors.script(name, *[late(3)] * 10)

    assert decide("--value-of-second", "1000", "--deadline", "1") == 0

    assert {row["stop_reason"] for row in read_result()} == {"out_of_time"}
    with pytest.raises(RefusedError, match="terms differ"):
        decide("--deadline", "2")


def test_a_journal_without_its_order_is_not_taken_over(vendors: Vendors) -> None:
    """Else another model would be named, and the first one would decide."""
    decide()
    billed = len(vendors.bill)
    Path("decisions.csv.journal/order.json").unlink()
    Path("model.json").write_text(json.dumps(model_json(shop(), "other")))

    with pytest.raises(RefusedError, match=r"must have order\.json"):
        decide()

    assert len(vendors.bill) == billed


def test_a_journal_without_anything_is_begun() -> None:
    Path("decisions.csv.journal").mkdir()

    assert decide() == 0

    assert len(read_result()) == 10


def test_a_begun_file_goes_on(vendors: Vendors) -> None:
    decide()
    first, billed = Path(RESULT).read_bytes(), vendors.bill_by_case()
    Path(RESULT).unlink()
    with sqlite3.connect("decisions.csv.journal/askless.db") as database:
        # As if the last three cases were not begun yet.
        database.execute(
            "UPDATE sessions SET client_ref = NULL WHERE client_ref IN ('8', '9', '10')"
        )
    database.close()

    decide()

    rows = read_result()
    assert len(rows) == 10
    assert rows[:7] == list(csv.DictReader(first.decode().splitlines()))[:7]
    again = {d: m - billed[d] for d, m in vendors.bill_by_case().items()}
    assert [again[domain] > 0 for domain in DOMAINS[:10]] == [False] * 7 + [True] * 3


def test_a_large_file_is_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    decide()
    whole = Path(RESULT).read_bytes()
    monkeypatch.setattr("askless.app.cli.deciding.ROWS_AT_ONCE", 3)

    decide()

    assert Path(RESULT).read_bytes() == whole


@pytest.mark.parametrize(
    ("cell", "place"), [("b.example,many", "visits"), (f"{'b' * 501},3", "domain")]
)
def test_what_cannot_be_is_named_by_row_before_anything_is_bought(
    vendors: Vendors, cell: str, place: str
) -> None:
    Path("cases.csv").write_text(f"domain,visits\na.example,3\n{cell}\n")

    with pytest.raises(RefusedError, match=f"row 2, {place}"):
        decide()

    assert vendors.bill == []
    assert not Path("decisions.csv.journal").exists()


def test_columns_that_nobody_needs_may_hold_anything(vendors: Vendors) -> None:
    head, *rows = Path("cases.csv").read_text().splitlines()
    wide = ",".join(f"no. {n}" for n in range(101))
    cells = ",".join(["text" * 200] * 101)
    rows = [f"{row},{cells}" for row in rows]
    Path("cases.csv").write_text("\n".join([f"{head},{wide}", *rows]))

    assert decide() == 0

    assert len(vendors.bill_by_case()) == 10


@pytest.mark.parametrize("budget", ["-1", "nan", "0.0000001", "1e99"])
def test_a_budget_that_is_none_is_refused_before_a_journal_is_begun(
    budget: str,
) -> None:
    with pytest.raises(RefusedError, match="--budget: must be an amount"):
        decide("--budget", budget)

    assert not Path("decisions.csv.journal").exists()


def decision_on(number: int) -> Decision:
    return Decision(number, "good", 0.5, 1, None, (), (), (), None)


def test_decisions_are_kept_in_the_order_of_cases() -> None:
    kept: list[Decision] = []
    runs = OpenRuns(kept.append)
    runs.running |= {"a": 1, "b": 2, "c": 3, "d": 4}

    runs.take({"c": decision_on(3), "b": decision_on(2)})
    assert kept == []
    runs.take({"a": decision_on(1)})

    assert [decision.number for decision in kept] == [1, 2, 3]
    assert runs.running == {"d": 4}
    assert runs.waiting == {}


def test_so_many_runs_are_open_and_so_many_decisions_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("askless.app.buyer.journal.MOST_WAITING", 2)
    runs = OpenRuns([].append)
    runs.running |= {"a": 1, "b": 2, "c": 3}

    assert [runs.has_room(n) for n in (2, 3, 4)] == [False, False, True]
    runs.take({"b": decision_on(2), "c": decision_on(3)})
    assert not runs.has_room(4)
    runs.take({"a": decision_on(1)})
    assert runs.has_room(4)


def test_a_case_is_found_without_reading_all_others() -> None:
    """Else a file takes time by the square of its cases."""
    decide()

    query = (
        "EXPLAIN QUERY PLAN SELECT * FROM sessions WHERE tenant_id = 't' AND "
        "client_ref = '3' ORDER BY created_at DESC, id DESC LIMIT 2"
    )
    with sqlite3.connect("decisions.csv.journal/askless.db") as database:
        plan = " ".join(row[3] for row in database.execute(query))
    database.close()

    assert "(tenant_id=? AND client_ref=?)" in plan
