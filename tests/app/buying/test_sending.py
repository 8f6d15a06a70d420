"""Requests to hostile servers: only where they may go, bounded, never misread."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from socket import socket
from time import monotonic
from typing import Any

import pytest

from askless.app.documents.buying.providers import Billing, Provider
from askless.app.service.buying.calling.sending import Message, Reply, Sender
from askless.app.service.buying.calling.verdicts import CallTerms, judge
from tests.app.buying.conftest import DOMAINS, SHOP, vendor
from tests.app.buying.single_vendor import serve_vendor
from tests.app.buying.vendors import (
    BOMB,
    DRIP,
    DROP_AFTER,
    DROP_UNREAD,
    EMPTY,
    HANG,
    HUGE,
    NOT_JSON,
    TOO_LONG,
    TOO_SHORT,
    TWICE,
    Behaviour,
    Vendors,
    fails,
    late,
    redirect,
)

FEW_MB = 8_000_000
ANSWER = {"company": {"employees": 71, "industry": "it"}, "visits": 3, "score": 0.1}
PROVIDER = Provider.model_validate(
    {
        "fills": "size",
        "request": {"url": "http://api.example/"},
        "read": {"size": "company.employees"},
    }
)


def message_to(url: str, domain: str = DOMAINS[3]) -> Message:
    body = json.dumps({"domain": domain}).encode()
    return Message("POST", url, {"Content-Type": "application/json"}, {}, body)


def send(sender: Sender, *messages: Message, timeout_s: float = 5.0) -> list[Reply]:
    """Send messages one after the other."""

    async def work() -> list[Reply]:
        return [await sender.send(message, timeout_s) for message in messages]

    return asyncio.run(work())


def call(vendors: Vendors, timeout_s: float = 5.0) -> Reply:
    sender = Sender([vendors.host])
    [reply] = send(sender, message_to(vendors.url("firmo")), timeout_s=timeout_s)
    return reply


def resolving(*answers: list[str]) -> tuple[Callable[..., Any], list[str]]:
    """Return a resolver that gives these addresses, in turns, and what it was asked."""
    asked: list[str] = []

    async def look_up(host: str, _: int) -> list[str]:
        asked.append(host)
        return answers[min(len(asked), len(answers)) - 1]

    return look_up, asked


def test_an_answer_is_read_as_it_was_sent(vendors: Vendors) -> None:
    reply = call(vendors)

    assert (reply.status, reply.failure, reply.was_sent) == (200, None, True)
    assert json.loads(reply.body) == ANSWER


@pytest.mark.parametrize(
    "url",
    [
        "http://other.example/",
        "http://api.example:8080/",
        "http://api.example.evil.example/",
        "http://api.example./",
        "https://api.example:80/",
        "http://[::1]/",
        "http://2130706433/",
        "http://127.1/",
        "http://0x7f000001/",
    ],
)
def test_a_host_that_is_not_listed_is_not_even_looked_up(url: str) -> None:
    look_up, asked = resolving(["8.8.8.8"])

    [reply] = send(Sender(["api.example"], look_up=look_up), message_to(url))

    assert (reply.failure, reply.was_sent, asked) == ("refused_address", False, [])


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.0.9", "0.0.0.0", "10.0.0.1", "172.16.0.1"),
        *("192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "240.0.0.1"),
        *("255.255.255.255", "198.18.0.1", "192.0.0.8", "192.88.99.1"),
        *("::", "::1", "fc00::1", "fe80::1", "fec0::1", "ff02::1", "ff0e::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1"),
        *("::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
        *("64:ff9b:1::7f00:1", "2002:7f00:1::", "2001:0:1::1", "2001:db8::1"),
        *("100::1", "3fff::1", "5f00::1"),
    ],
)
def test_a_listed_name_that_means_a_private_address_is_refused(address: str) -> None:
    look_up, _ = resolving([address])

    [reply] = send(
        Sender(["api.example"], look_up=look_up), message_to("http://api.example/")
    )

    assert (reply.status, reply.failure) == (None, "refused_address")


def test_one_private_address_beside_a_public_one_is_refused() -> None:
    look_up, _ = resolving(["93.184.215.14", "127.0.0.1"])

    [reply] = send(
        Sender(["api.example"], look_up=look_up), message_to("http://api.example/")
    )

    assert reply.failure == "refused_address"


def test_a_private_address_is_called_where_the_list_names_its_network(
    vendors: Vendors,
) -> None:
    look_up, _ = resolving(["127.0.0.1"])
    hosts = [f"vendor.example:{vendors.port}", "127.0.0.0/8"]
    url = f"http://vendor.example:{vendors.port}/v/firmo"

    [reply] = send(Sender(hosts, look_up=look_up), message_to(url))

    assert reply.status == 200
    host = f"Host: vendor.example:{vendors.port}".encode()
    assert host.lower() in vendors.sent().lower()


def test_an_address_that_is_listed_with_a_port_allows_that_port_alone(
    vendors: Vendors,
) -> None:
    look_up, _ = resolving(["127.0.0.1"])
    hosts = ["vendor.example:1", vendors.host]

    [reply] = send(
        Sender(hosts, look_up=look_up), message_to("http://vendor.example:1/")
    )

    assert reply.failure == "refused_address"


def test_a_name_is_looked_up_once_and_that_address_is_called(vendors: Vendors) -> None:
    """What it would mean a moment later reaches nobody."""
    look_up, asked = resolving(["127.0.0.1"], ["10.255.255.1"])
    name = f"vendor.example:{vendors.port}"
    sender = Sender([name, vendors.host], look_up=look_up)

    [reply] = send(sender, message_to(f"http://{name}/v/firmo"))

    assert reply.status == 200
    assert asked == ["vendor.example"]


def test_a_name_that_means_a_private_address_at_the_next_call_is_refused(
    vendors: Vendors,
) -> None:
    look_up, _ = resolving(["127.0.0.1"], ["10.255.255.1"])
    name = f"vendor.example:{vendors.port}"
    sender = Sender([name, vendors.host], look_up=look_up)

    first, second = send(sender, *[message_to(f"http://{name}/v/firmo")] * 2)

    assert (first.status, second.failure) == (200, "refused_address")


def test_a_name_that_is_unknown_is_a_connection_that_was_never_made() -> None:
    async def look_up(*_: Any) -> list[str]:
        raise OSError("no such name")

    [reply] = send(
        Sender(["api.example"], look_up=look_up), message_to("http://api.example/")
    )

    assert (reply.failure, reply.was_sent) == ("not_connected", False)


def test_a_port_that_nobody_listens_at_is_a_connection_that_was_never_made() -> None:
    with socket() as bound:
        bound.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{bound.getsockname()[1]}"
        [reply] = send(Sender([host]), message_to(f"http://{host}/"))

    assert (reply.failure, reply.was_sent) == ("not_connected", False)


def test_a_server_that_never_takes_the_connection_was_sent_nothing() -> None:
    """It speaks no TLS: the handshake waits until the time is over."""
    with socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        host = f"127.0.0.1:{listening.getsockname()[1]}"
        [reply] = send(Sender([host]), message_to(f"https://{host}/"), timeout_s=0.3)

    assert (reply.failure, reply.was_sent) == ("not_connected", False)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(vendors: Vendors, status: int) -> None:
    vendors.script("firmo", redirect(vendors.url("score"), status))

    reply = call(vendors)

    assert (reply.status, reply.body) == (status, b"")
    assert [request.vendor for request in vendors.requests] == ["firmo"]


@pytest.mark.parametrize(
    "behaviour", [HUGE, BOMB, replace(BOMB, layers=2)], ids=["huge", "bomb", "twice"]
)
def test_an_answer_without_end_is_given_up_early(
    vendors: Vendors, behaviour: Behaviour
) -> None:
    vendors.script("firmo", behaviour)

    reply = call(vendors)

    assert (reply.status, reply.body, reply.failure) == (200, b"", "unreadable")
    assert reply.was_sent
    assert vendors.n_bytes_sent < FEW_MB


@pytest.mark.parametrize(
    "behaviour", [DRIP, HANG, late(3.0)], ids=["drip", "hang", "late"]
)
def test_no_answer_takes_longer_than_its_time(
    vendors: Vendors, behaviour: Behaviour
) -> None:
    vendors.script("firmo", behaviour)
    began = monotonic()

    reply = call(vendors, timeout_s=0.5)

    assert monotonic() - began < 2.0
    assert (reply.failure, reply.was_sent) == ("no_answer", True)


@pytest.mark.parametrize(
    "behaviour", [DROP_UNREAD, DROP_AFTER, TOO_LONG], ids=["unread", "read", "cut"]
)
def test_what_was_sent_and_not_answered_as_a_whole_may_have_arrived(
    vendors: Vendors, behaviour: Behaviour
) -> None:
    vendors.script("firmo", behaviour)

    reply = call(vendors)

    assert (reply.failure, reply.was_sent) == ("no_answer", True)


def test_an_answer_that_is_no_json_came(vendors: Vendors) -> None:
    vendors.script("firmo", NOT_JSON)

    reply = call(vendors)

    assert (reply.status, reply.failure) == (200, None)
    assert reply.body.startswith(b"<html>")


@pytest.mark.parametrize("status", [400, 401, 402, 404, 429, 500, 503])
def test_a_refusal_came_whatever_its_body_is(vendors: Vendors, status: int) -> None:
    vendors.script("firmo", fails(status))

    reply = call(vendors)

    assert (reply.status, reply.body, reply.failure) == (status, b"", None)


@pytest.mark.parametrize(
    "behaviour", [TWICE, TOO_SHORT, fails(503), NOT_JSON], ids=lambda b: b.kind
)
def test_what_one_call_left_on_a_connection_is_not_the_answer_to_the_next(
    vendors: Vendors, behaviour: Behaviour
) -> None:
    vendors.script("firmo", behaviour)
    url = vendors.url("firmo")
    messages = [message_to(url, domain) for domain in DOMAINS[3:6]]

    replies = send(Sender([vendors.host]), *messages)

    sizes = [json.loads(reply.body)["company"]["employees"] for reply in replies[1:]]
    assert sizes == [78, 85]


def test_calls_side_by_side_read_their_own_answers(vendors: Vendors) -> None:
    url = vendors.url("firmo")
    vendors.script("firmo", *[TWICE, EMPTY] * 5)

    async def work() -> list[Reply]:
        sender = Sender([vendors.host])
        calls = (sender.send(message_to(url, domain), 5.0) for domain in DOMAINS * 3)
        return await asyncio.gather(*calls)

    replies = asyncio.run(work())

    for number, reply in enumerate(replies):
        company = json.loads(reply.body)["company"]
        assert company is None or company["employees"] == 50 + 7 * (number % 30)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *[("7", 7.0), ("0", 0.0), ("soon", None), ("-3", None)],
        ("9" * 30, 999_999_999.0),
        ("Mon, 20 Nov 99999999999999999999 19:12:08 GMT", None),
    ],
)
def test_retry_after_is_read_as_seconds(
    vendors: Vendors, text: str, seconds: float | None
) -> None:
    vendors.script("firmo", fails(429, text))

    assert call(vendors).retry_after_s == seconds


@pytest.mark.parametrize(("ahead_s", "least"), [(90, 80.0), (-90, 0.0)])
def test_retry_after_is_read_as_a_date(
    vendors: Vendors, ahead_s: int, least: float
) -> None:
    at = datetime.now(UTC) + timedelta(seconds=ahead_s)
    vendors.script("firmo", fails(503, format_datetime(at, usegmt=True)))

    seconds = call(vendors).retry_after_s

    assert seconds is not None
    assert least <= seconds <= max(0, ahead_s)


def test_a_proxy_of_the_environment_is_not_asked(
    vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Vendors(vendor("firmo", 1)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.host}")
        monkeypatch.setenv("ALL_PROXY", f"http://{proxy.host}")

        reply = call(vendors)

        assert (reply.status, proxy.requests) == (200, [])


def judged(reply: Reply, billing: Billing) -> tuple[str, int]:
    terms = CallTerms(PROVIDER, SHOP, ("size",), 50_000, billing)
    verdict = judge(terms, reply, 1)
    return verdict.state, verdict.amount


@pytest.mark.parametrize(
    ("reply", "state", "amount"),
    [
        (Reply(None, failure="refused_address"), "released", 0),
        (Reply(None, failure="not_connected"), "released", 0),
        (Reply(None, failure="no_answer"), "in_doubt", 50_000),
        (Reply(400), "released", 0),
        (Reply(429), "released", 0),
        (Reply(503), "released", 0),
        (Reply(302), "missed", 50_000),
        (Reply(200, b"", "unreadable"), "missed", 50_000),
        (Reply(200, b"<html>"), "missed", 50_000),
        (Reply(204), "missed", 50_000),
        (Reply(200, b'{"company": null}'), "missed", 50_000),
        (Reply(200, b'{"company": {"employees": "many"}}'), "settled", 50_000),
        (Reply(200, b'{"company": {"employees": 3}}'), "settled", 50_000),
    ],
)
def test_only_what_never_arrived_and_what_was_refused_is_released(
    reply: Reply, state: str, amount: int
) -> None:
    assert judged(reply, "per_call") == (state, amount)


@pytest.mark.parametrize(
    "reply", [Reply(302), Reply(200, b"<html>"), Reply(200, b"", "unreadable")]
)
def test_an_answer_without_a_value_is_free_where_answers_are_paid(
    reply: Reply,
) -> None:
    assert judged(reply, "per_answer") == ("missed", 0)


def test_a_path_that_an_answer_breaks_brings_no_value() -> None:
    """An error would be met again at each attempt to settle the call."""
    provider = PROVIDER.model_copy(update={"read": {"size": "ceil(size)"}})
    terms = CallTerms(provider, SHOP, ("size",), 50_000, "per_call")

    verdict = judge(terms, Reply(200, b'{"size": 1e999}'), 1)

    assert (verdict.state, verdict.amount) == ("missed", 50_000)


def test_a_cookie_is_not_carried_to_the_next_call() -> None:
    """It could tell one case, or one tenant, of another."""
    with serve_vendor() as server:
        server.headers = {"Set-Cookie": "case=company-3.example; Path=/"}
        url = f"http://{server.host}/"

        send(Sender([server.host]), *[message_to(url)] * 2)

        assert [asked["headers"].get("Cookie") for asked in server.asked] == [None] * 2
