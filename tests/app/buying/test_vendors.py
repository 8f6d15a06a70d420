"""The vendors of tests misbehave as scripted, and their bill is exact."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, IncompleteRead
from pathlib import Path

import pytest

from tests.app.buying import vendors as shop
from tests.app.buying.bills import Charge
from tests.app.buying.vendors import Behaviour, Vendor, Vendors

ROOT = Path(__file__).resolve().parents[3]
ANSWER = {"company": {"employees": 12, "industry": {"name": "steel"}}}


@pytest.fixture
def vendors() -> Iterator[Vendors]:
    answers = {"a.example": ANSWER}
    with Vendors(
        Vendor("firmo", answers, 50_000, billing="per_call"),
        Vendor("mails", answers, 1_000, idempotency_header=None),
        Vendor("strict", answers, 600_000, charges_failures=True, secret="s3cret"),
    ) as server:
        yield server


def ask(
    vendors: Vendors,
    name: str,
    domain: str = "a.example",
    key: str | None = None,
    **headers: str,
) -> tuple[int, bytes, dict[str, str]]:
    connection = HTTPConnection(vendors.host, timeout=0.5)
    if key is not None:
        headers["Idempotency-Key"] = key
    try:
        body = json.dumps({"domain": domain})
        connection.request("POST", f"/v/{name}", body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


def test_an_answer_is_billed_once_for_its_key(vendors: Vendors) -> None:
    answers = [ask(vendors, "firmo", key="k")[:2] for _ in range(3)]

    assert answers == [(200, json.dumps(ANSWER).encode())] * 3
    assert vendors.bill == [Charge("k", "firmo", "a.example", 50_000)]
    assert vendors.counts_by_key() == {"k": 3}


def test_another_body_under_a_key_is_refused(vendors: Vendors) -> None:
    ask(vendors, "firmo", key="k")

    assert ask(vendors, "firmo", "b.example", key="k")[0] == 422
    assert vendors.bill_by_case() == {"a.example": 50_000}


def test_a_vendor_without_the_header_bills_each_request(vendors: Vendors) -> None:
    for _ in range(2):
        ask(vendors, "mails", key="k")

    assert vendors.bill_by_vendor() == {"mails": 2_000}


def test_an_empty_answer_costs_where_calls_are_billed(vendors: Vendors) -> None:
    bodies = [ask(vendors, name, "none.example")[1] for name in ("firmo", "mails")]

    assert bodies == [b'{"company": null}'] * 2
    assert vendors.bill_by_vendor() == {"firmo": 50_000}


def test_failures_cost_where_they_are_charged(vendors: Vendors) -> None:
    for name in ("firmo", "strict"):
        vendors.script(name, shop.fails(429, retry_after="2"))

    status, _, headers = ask(vendors, "firmo")
    ask(vendors, "strict", Authorization="Bearer s3cret")

    assert (status, headers["Retry-After"]) == (429, "2")
    assert vendors.bill_by_vendor() == {"strict": 600_000}


def test_a_failure_then_an_answer_are_one_charge_of_a_key(vendors: Vendors) -> None:
    vendors.script("strict", shop.fails(503))
    headers = {"Authorization": "Bearer s3cret"}

    statuses = [ask(vendors, "strict", key="k", **headers)[0] for _ in range(2)]

    assert statuses == [503, 200]
    assert vendors.bill_by_vendor() == {"strict": 600_000}


def test_a_wrong_secret_is_refused_and_logged(vendors: Vendors) -> None:
    assert ask(vendors, "strict", Authorization="Bearer other")[0] == 401
    assert b"Authorization: Bearer other" in vendors.sent()


def test_who_answers_too_late_has_billed_already(vendors: Vendors) -> None:
    vendors.script("firmo", shop.late(5))

    with pytest.raises(TimeoutError):
        ask(vendors, "firmo", key="k")
    status, _, _ = ask(vendors, "firmo", key="k")

    assert status == 200
    assert vendors.bill == [Charge("k", "firmo", "a.example", 50_000)]


@pytest.mark.parametrize(
    ("behaviour", "billed"),
    [(shop.HANG, 0), (shop.DRIP, 50_000), (shop.DROP_AFTER, 50_000)],
)
def test_no_answer_comes(vendors: Vendors, behaviour: Behaviour, billed: int) -> None:
    vendors.script("firmo", behaviour)

    with pytest.raises(OSError, match=r"timed out|reset"):
        ask(vendors, "firmo")
    assert sum(vendors.bill_by_case().values()) == billed
    assert len(vendors.requests) == 1


def test_a_connection_that_is_dropped_unread_is_no_request(vendors: Vendors) -> None:
    vendors.script("firmo", shop.DROP_UNREAD)

    with pytest.raises((OSError, HTTPException)):
        ask(vendors, "firmo")
    assert (vendors.requests, vendors.bill, vendors.n_connections) == ([], [], 1)


def test_a_second_answer_lies_behind_the_first(vendors: Vendors) -> None:
    vendors.script("firmo", shop.TWICE)
    connection = HTTPConnection(vendors.host, timeout=0.5)
    connection.connect()
    with connection.sock as raw:
        raw.sendall(b"GET /v/firmo?domain=a.example HTTP/1.1\r\nHost: x\r\n\r\n")
        received = b""
        while received.count(b"HTTP/1.1 200 OK") < 2:
            received += raw.recv(4096)

    assert len(vendors.bill) == 1


def test_bodies_are_as_scripted(vendors: Vendors) -> None:
    huge = Behaviour("huge", size=3_000_000)
    script = (shop.BOMB, huge, shop.NOT_JSON, shop.WRONG_TYPES, shop.TOO_SHORT)
    vendors.script("firmo", *script)

    bomb, long, page, mistyped, short = (ask(vendors, "firmo")[1] for _ in script)

    assert len(gzip.decompress(bomb)) > 900 * len(bomb)
    assert len(long) == 3_000_000
    assert page.startswith(b"<html>")
    assert json.loads(mistyped)["company"] == {
        "employees": ["many"],
        "industry": {"name": 17},
    }
    assert short == json.dumps(ANSWER).encode()[:-5]


def test_a_body_may_be_shorter_than_announced(vendors: Vendors) -> None:
    vendors.script("firmo", shop.TOO_LONG)

    with pytest.raises(IncompleteRead):
        ask(vendors, "firmo")


def test_who_follows_a_redirect_is_seen(vendors: Vendors) -> None:
    vendors.script("firmo", shop.redirect(f"http://{vendors.host}/elsewhere"))

    status, _, headers = ask(vendors, "firmo")

    assert (status, headers["Location"]) == (302, f"http://{vendors.host}/elsewhere")
    assert vendors.counts_by_vendor() == {"firmo": 1}


def test_a_process_of_its_own_writes_each_charge_to_a_file(tmp_path: Path) -> None:
    bill = tmp_path / "bill.jsonl"
    listed = tmp_path / "vendors.json"
    vendor = Vendor("firmo", {"a.example": ANSWER}, 7, script=[shop.fails(500)])
    listed.write_text(json.dumps([shop.document_of(vendor)]))
    command = [sys.executable, "-m", shop.__name__, "--bill", str(bill)]
    with subprocess.Popen(
        [*command, "--vendors", str(listed)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        host = process.stdout.readline().strip().removeprefix("http://")
        statuses = []
        for _ in range(2):
            connection = HTTPConnection(host, timeout=5)
            connection.request("GET", "/v/firmo?domain=a.example")
            statuses.append(connection.getresponse().status)
            connection.close()
        process.kill()

    assert statuses == [500, 200]
    assert [json.loads(line) for line in bill.read_text().splitlines()] == [
        {"key": None, "vendor": "firmo", "domain": "a.example", "micros": 7}
    ]
