"""Vendors of features on one HTTP server, which misbehave by script and keep a bill.

Written from DESIGN.md, section 9, alone, so that its bill is evidence that ours is
right: nothing of askless is imported here. Money is counted in whole micro-units.
"""

import argparse
import contextlib
import gzip
import json
import socket
import struct
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from select import select
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.app.buying.bills import Answer, Books, Charge, Request, problem

#: kinds that send an answer of the vendor, in order or not
ANSWERING = {
    *("answer", "empty", "wrong_types", "late", "drop_after", "twice", "drip"),
    *("huge", "bomb", "not_json", "wrong_length"),
}
CHUNK = 65536


@dataclass(frozen=True)
class Behaviour:
    """What a vendor does with one request.

    `answer`, `empty`, `wrong_types`; `status` (4xx, 5xx); `hang`, until a side closes;
    `late`, after `delay_s`; `drop_unread`, `drop_after` reading; `twice`, a second
    answer behind the first; `redirect`; `huge`; `bomb`; `drip`, a byte each `delay_s`;
    `not_json`; `wrong_length`, by `size` bytes too many (or, negative, too few).
    """

    kind: str
    status: int = 200
    retry_after: str | None = None
    delay_s: float = 1.0
    to: str = ""
    #: bytes: of a huge answer or an unpacked bomb, or by which a length is wrong
    size: int = 0
    #: how often a bomb is packed
    layers: int = 1
    #: whether the vendor bills it; as it bills an answer of this kind, where left out
    bills: bool | None = None


ANSWER = Behaviour("answer")
EMPTY = Behaviour("empty")
HANG = Behaviour("hang")
DROP_UNREAD = Behaviour("drop_unread")
DROP_AFTER = Behaviour("drop_after")
TWICE = Behaviour("twice")
HUGE = Behaviour("huge", size=100_000_000)
BOMB = Behaviour("bomb", size=10_000_000)
DRIP = Behaviour("drip")
NOT_JSON = Behaviour("not_json")
WRONG_TYPES = Behaviour("wrong_types")
TOO_LONG = Behaviour("wrong_length", size=100)
TOO_SHORT = Behaviour("wrong_length", size=-5)


def fails(status: int, retry_after: str | None = None) -> Behaviour:
    return Behaviour("status", status=status, retry_after=retry_after)


def late(delay_s: float) -> Behaviour:
    return Behaviour("late", delay_s=delay_s)


def redirect(to: str, status: int = 302) -> Behaviour:
    return Behaviour("redirect", status=status, to=to)


@dataclass
class Vendor:
    name: str
    #: by domain; a domain that is not here has an empty answer
    answers: Mapping[str, Any]
    price_micros: int
    billing: str = "per_answer"
    charges_failures: bool = False
    latency_s: float = 0.0
    #: None: the vendor knows no such header, and bills each request
    idempotency_header: str | None = "Idempotency-Key"
    empty: Any = field(default_factory=lambda: {"company": None})
    #: what `Authorization: Bearer` must say
    secret: str | None = None
    #: what it does by itself, where neither a script nor the domain says otherwise
    behaviour: Behaviour = ANSWER
    by_domain: Mapping[str, Behaviour] = field(default_factory=dict)
    #: one for each of the next requests
    script: list[Behaviour] = field(default_factory=list)


def wrong_types(value: Any) -> Any:
    """Return a value of the same shape, with each leaf of another type."""
    if isinstance(value, Mapping):
        return {name: wrong_types(part) for name, part in value.items()}
    if isinstance(value, str):
        return 17
    return ["many"]


def answer_of(
    vendor: Vendor, request: Request, behaviour: Behaviour
) -> tuple[Answer, int]:
    """Return what is answered, and the micro-units that the vendor bills for it."""
    if behaviour.kind == "status":
        waits = (
            [("Retry-After", behaviour.retry_after)] if behaviour.retry_after else []
        )
        answer = problem(behaviour.status, "as scripted", *waits)
        bills = vendor.charges_failures
    elif behaviour.kind == "redirect":
        # It answers, is neither 4xx nor 5xx, and has no value.
        answer = Answer(behaviour.status, b"{}", (("Location", behaviour.to),))
        bills = vendor.billing == "per_call"
    else:
        is_empty = behaviour.kind == "empty" or request.domain not in vendor.answers
        content = vendor.empty if is_empty else vendor.answers[request.domain]
        answer = packed(content, behaviour)
        bills = behaviour.kind != "hang" and (
            not is_empty or vendor.billing == "per_call"
        )
    if behaviour.bills is not None:
        bills = behaviour.bills
    return answer, vendor.price_micros if bills else 0


def packed(content: Any, behaviour: Behaviour) -> Answer:
    body = json.dumps(content).encode()
    match behaviour.kind:
        case "wrong_types":
            return Answer(200, json.dumps(wrong_types(content)).encode())
        case "not_json":
            return Answer(200, b"<html>We have moved to a new portal.</html>")
        case "wrong_length":
            return Answer(200, body, length=max(0, len(body) + behaviour.size))
        case "bomb":
            body = bytes(behaviour.size)
            for _ in range(behaviour.layers):
                body = gzip.compress(body)
            coding = ", ".join(["gzip"] * behaviour.layers)
            return Answer(200, body, (("Content-Encoding", coding),))
    return Answer(200, body)


class Handler(BaseHTTPRequestHandler):
    """One connection, kept alive between requests that went well."""

    protocol_version = "HTTP/1.1"
    server: "Server"
    raw_requestline: bytes

    def do_GET(self) -> None:
        try:
            self._serve()
        except OSError:  # The client, or the test, has closed it.
            self.close_connection = True

    def do_POST(self) -> None:
        self.do_GET()

    def do_PUT(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the books have it."""

    def _serve(self) -> None:
        vendors = self.server.vendors
        vendor = vendors.vendor_at(urlsplit(self.path).path)
        if vendor is not None and vendors.takes_unread(vendor):
            return self._reset()
        request = self._read(vendor)
        with vendors.books.lock:
            vendors.books.requests.append(request)
        if vendor is None:
            return self._send(problem(404, "no vendor has this path"))
        if vendor.secret and self.headers["Authorization"] != f"Bearer {vendor.secret}":
            return self._send(problem(401, "the secret is another one"))
        if not request.domain:
            return self._send(problem(400, "a domain is needed"))
        behaviour = vendors.next_behaviour(vendor, request.domain)
        is_kept = behaviour.bills is not False if behaviour.kind in ANSWERING else None
        drafted, micros = answer_of(vendor, request, behaviour)
        answer = vendors.books.answer(request, drafted, micros, is_kept=is_kept)
        self.server.closing.wait(vendor.latency_s)
        if answer.status == 422:
            return self._send(answer)
        return self._behave(behaviour, answer)

    def _read(self, vendor: Vendor | None) -> Request:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        header = vendor.idempotency_header if vendor else "Idempotency-Key"
        return Request(
            vendor=vendor.name if vendor else None,
            key=self.headers[header] if header else None,
            domain=domain_of(self.path, body),
            head=self.raw_requestline + bytes(self.headers),
            body=body,
            fingerprint=(self.command, self.path, body),
        )

    def _behave(self, behaviour: Behaviour, answer: Answer) -> None:
        match behaviour.kind:
            case "hang":
                self._wait_for_an_end()
            case "late":
                self.server.closing.wait(behaviour.delay_s)
                self._send(answer)
            case "drop_after":
                self._reset()
            case "twice":
                self._send(answer)
                self._send(answer)
            case "huge":
                self._send_huge(behaviour.size)
            case "drip":
                self._drip(answer, behaviour.delay_s)
            case "wrong_length":
                self._send(answer)
                self.close_connection = True
            case _:
                self._send(answer)

    def _send(self, answer: Answer) -> None:
        self._write(self._head(answer) + answer.body)

    def _head(self, answer: Answer) -> bytes:
        n_bytes = len(answer.body) if answer.length is None else answer.length
        lines = [
            f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
            "Content-Type: application/json",
            f"Content-Length: {n_bytes}",
            *(f"{name}: {value}" for name, value in answer.headers),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _write(self, content: bytes) -> None:
        self.wfile.write(content)
        with self.server.vendors.books.lock:
            self.server.vendors.books.n_bytes_sent += len(content)

    def _send_huge(self, n_bytes: int) -> None:
        """Send a JSON string of so many bytes, without holding it."""
        self._write(self._head(Answer(200, b"", length=n_bytes)) + b'"')
        left = n_bytes - 2
        while left > 0 and not self.server.closing.is_set():
            self._write(b"x" * min(left, CHUNK))
            left -= CHUNK
        self._write(b'"')

    def _drip(self, answer: Answer, pause_s: float) -> None:
        self._write(self._head(answer))
        for position in range(len(answer.body)):
            if self.server.closing.wait(pause_s):
                break
            self._write(answer.body[position : position + 1])
        self.close_connection = True

    def _wait_for_an_end(self) -> None:
        while not self.server.closing.is_set():
            is_readable, _, _ = select([self.connection], [], [], 0.05)
            if is_readable and not self.connection.recv(CHUNK):
                break
        self.close_connection = True

    def _reset(self) -> None:
        """End the connection by a reset, whatever is still unread."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True


def domain_of(target: str, body: bytes) -> str:
    """Read the key of the case from the query, or from a body of JSON."""
    named = parse_qs(urlsplit(target).query).get("domain")
    if named:
        return named[0]
    try:
        content = json.loads(body)
    except ValueError:
        return ""
    domain = content.get("domain") if isinstance(content, dict) else None
    return domain if isinstance(domain, str) else ""


class Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = False  # Closing waits for each of them.
    allow_reuse_address = True

    def __init__(self, vendors: "Vendors", port: int) -> None:
        self.vendors = vendors
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self.n_connections = 0
        super().__init__(("127.0.0.1", port), Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
            self.n_connections += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        linger = request.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)
        if linger == struct.pack("ii", 1, 0):
            self.close_request(request)  # A shutdown would end it in good order.
        else:
            super().shutdown_request(request)

    def hang_up(self) -> None:
        self.closing.set()
        with self._lock:
            for connection in self._connections:
                # The other side may have gone in between.
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


class Vendors:
    """The server: `with Vendors(Vendor("firmo", {...}, 50_000)) as vendors`."""

    def __init__(
        self, *vendors: Vendor, port: int = 0, bill_path: Path | None = None
    ) -> None:
        self.vendors = {vendor.name: vendor for vendor in vendors}
        self.books = Books(bill_path)
        self._lock = threading.Lock()
        self._scripts = {v.name: deque(v.script) for v in vendors}
        self._server = Server(self, port)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def host(self) -> str:
        """The entry of ASKLESS_PROVIDER_HOSTS that lets them be called."""
        return f"127.0.0.1:{self.port}"

    @property
    def bill(self) -> list[Charge]:
        with self.books.lock:
            return list(self.books.bill)

    @property
    def requests(self) -> list[Request]:
        with self.books.lock:
            return list(self.books.requests)

    @property
    def n_connections(self) -> int:
        return self._server.n_connections

    @property
    def n_bytes_sent(self) -> int:
        with self.books.lock:
            return self.books.n_bytes_sent

    def url(self, name: str) -> str:
        return f"http://{self.host}/v/{name}"

    def provider(self, name: str, read: Mapping[str, str], **changes: Any) -> Any:
        """Return the document of DESIGN.md, section 9, by which this one is called."""
        vendor = self.vendors[name]
        document = {
            "fills": name,
            "request": {
                "method": "POST",
                "url": self.url(name),
                "json": {"domain": "{key.domain}"},
            },
            "read": dict(read),
            "price": vendor.price_micros / 1_000_000,
            "billing": vendor.billing,
            "charges_failures": vendor.charges_failures,
        }
        if vendor.idempotency_header is not None:
            document["idempotency_header"] = vendor.idempotency_header
        return document | changes

    def script(self, name: str, *behaviours: Behaviour) -> None:
        """Say what a vendor does with its next requests, one each."""
        with self._lock:
            self._scripts[name].extend(behaviours)

    def counts_by_key(self) -> Counter[str | None]:
        return Counter(request.key for request in self.requests)

    def counts_by_vendor(self) -> Counter[str | None]:
        return Counter(request.vendor for request in self.requests)

    def bill_by_case(self) -> dict[str, int]:
        totals: Counter[str] = Counter()
        for charge in self.bill:
            totals[charge.domain] += charge.micros
        return dict(totals)

    def bill_by_vendor(self) -> dict[str, int]:
        totals: Counter[str] = Counter()
        for charge in self.bill:
            totals[charge.vendor] += charge.micros
        return dict(totals)

    def sent(self) -> bytes:
        """Return all that was received, for tests that look for what must not be."""
        return b"\n".join(request.head + request.body for request in self.requests)

    def vendor_at(self, path: str) -> Vendor | None:
        match path.split("/")[1:3]:
            case ["v", name]:
                return self.vendors.get(name)
        return None

    def takes_unread(self, vendor: Vendor) -> bool:
        """Take the next behaviour if it is to end the connection unread."""
        with self._lock:
            script = self._scripts[vendor.name]
            if script and script[0].kind == "drop_unread":
                script.popleft()
                return True
            return not script and vendor.behaviour.kind == "drop_unread"

    def next_behaviour(self, vendor: Vendor, domain: str) -> Behaviour:
        with self._lock:
            script = self._scripts[vendor.name]
            if script:
                return script.popleft()
        return vendor.by_domain.get(domain, vendor.behaviour)


def vendor_from(document: Mapping[str, Any]) -> Vendor:
    """Read a vendor of a file, whose behaviours are objects with their fields."""
    fields = dict(document)
    if "behaviour" in fields:
        fields["behaviour"] = Behaviour(**fields["behaviour"])
    by_domain = fields.get("by_domain", {})
    fields["by_domain"] = {key: Behaviour(**value) for key, value in by_domain.items()}
    fields["script"] = [Behaviour(**value) for value in fields.get("script", [])]
    return Vendor(**fields)


def document_of(vendor: Vendor) -> dict[str, Any]:
    """Return what `--vendors` reads, one of its list."""
    return asdict(vendor)


def some_vendors() -> Iterable[Vendor]:
    """Return three vendors, for a process that is given no file."""
    domains = [f"company-{number}.example" for number in range(1000)]
    prices = {"cheap": 1_000, "usual": 50_000, "dear": 600_000}
    for name, price in prices.items():
        answers = {
            domain: {"company": {"employees": 10 + number, "name": name}}
            for number, domain in enumerate(domains)
        }
        yield Vendor(name, answers, price, billing="per_call")


def main(arguments: list[str]) -> None:
    """Serve until the process is ended; the first line of output is the address."""
    parser = argparse.ArgumentParser(prog="python -m tests.app.buying.vendors")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--bill", type=Path, help="each charge is a line of JSON here")
    parser.add_argument("--vendors", type=Path, help="a list of vendors, as JSON")
    given = parser.parse_args(arguments)
    vendors = list(some_vendors())
    if given.vendors is not None:
        listed = json.loads(given.vendors.read_text(encoding="utf-8"))
        vendors = [vendor_from(document) for document in listed]
    with Vendors(*vendors, port=given.port, bill_path=given.bill) as server:
        sys.stdout.write(f"http://{server.host}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1:])
