"""`askless decide`: a whole file is bought for without a service, and goes on."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from askless.app import cli
from askless.app.settings.settings import Settings
from askless.core.errors import RefusedError
from tests.app.buying.conftest import DOMAINS, READS, shop
from tests.app.buying.vendors import Vendors, late
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
