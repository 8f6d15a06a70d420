"""The bill of vendors: who asked what, what was answered under which key, for how much.

As in `vendors`, nothing of askless is imported.
"""

import json
import os
import threading
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple


class Charge(NamedTuple):
    key: str | None
    vendor: str
    domain: str
    micros: int


class Request(NamedTuple):
    vendor: str | None
    key: str | None
    #: empty: none was named
    domain: str
    #: request line and headers, as received
    head: bytes
    body: bytes
    fingerprint: tuple[str, str, bytes]


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    length: int | None = None


class Books:
    """Who asked what, what was answered under which key, and what it costs."""

    def __init__(self, bill_path: Path | None) -> None:
        self.lock = threading.Lock()
        self.bill: list[Charge] = []
        self.requests: list[Request] = []
        self.n_bytes_sent = 0
        self._bill_path = bill_path
        self._fingerprints: dict[tuple[str, str], tuple[str, str, bytes]] = {}
        self._answers: dict[tuple[str, str], Answer] = {}
        self._billed: set[tuple[str, str]] = set()

    def answer(
        self, request: Request, drafted: Answer, micros: int, *, is_kept: bool | None
    ) -> Answer:
        """Answer and bill at once, so that a key in use is never billed twice.

        `is_kept`: whether the answer is repeated to its key; None: it is none.
        """
        vendor = request.vendor or ""
        with self.lock:
            case = (vendor, request.key) if request.key else None
            if case is not None:
                first = self._fingerprints.setdefault(case, request.fingerprint)
                if first != request.fingerprint:
                    return problem(422, "another request was sent with this key")
            if is_kept is not None and case in self._answers:
                return self._answers[case]
            if micros and case not in self._billed:
                self._charge(Charge(request.key, vendor, request.domain, micros))
                if case is not None:
                    self._billed.add(case)
            if case is not None and is_kept:
                self._answers[case] = drafted
            return drafted

    def _charge(self, charge: Charge) -> None:
        self.bill.append(charge)
        if self._bill_path is None:
            return
        with self._bill_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(charge._asdict()) + "\n")
            file.flush()
            os.fsync(file.fileno())


def problem(status: int, detail: str, *headers: tuple[str, str]) -> Answer:
    body = {"status": status, "title": HTTPStatus(status).phrase, "detail": detail}
    return Answer(status, json.dumps(body).encode(), headers)
