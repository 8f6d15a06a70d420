"""The page of a question: how long a server takes for it, and what a browser loads.

Readers are signed in with a key, and read in turn the questions of some sessions, which
have none to eight answers.
"""

import random
import re
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any
from urllib.parse import urlencode

import numpy as np

from benchmarks.service.clients import Caller, drive, value_of
from benchmarks.service.servers import Party

ANSWERS = range(9)
BROWSER = "Accept: text/html\r\n"
FORM = BROWSER + "Content-Type: application/x-www-form-urlencoded\r\n"


@dataclass
class Reader:
    """A browser with a connection that stays open."""

    caller: Caller
    cookie: str = ""
    seconds: list[float] = field(default_factory=list)
    addresses: Any = ()

    def get(self, path: str) -> str:
        return self.send("GET", path, None, BROWSER)[1]

    def send(
        self, method: str, path: str, body: bytes | None, head: str
    ) -> tuple[int, str]:
        head += f"Cookie: {self.cookie}\r\n" if self.cookie else ""
        status, found = self.caller.ask(method, path, body, head)
        assert status in (200, 303), (status, found)
        given = re.search(r"set-cookie: (askless_ui=[^;]+)", self.caller.head, re.I)
        self.cookie = given[1] if given else self.cookie
        return status, found.decode()

    def sign_in(self, key: str) -> None:
        token = re.search(r'"form_token" value="(\w+)"', self.get("/ui/sign-in"))
        assert token is not None
        form = urlencode({"form_token": token[1], "key": key}).encode()
        status, _ = self.send("POST", "/ui/sign-in", form, FORM)
        assert status == 303, "the key was not taken"

    def read(self) -> None:
        """Read the page of a question; only this is timed."""
        address = next(self.addresses)
        started = time.perf_counter()
        text = self.get(address)
        self.seconds.append(time.perf_counter() - started)
        assert "<h1>Ask: " in text, address


def open_sessions(caller: Caller, model: str) -> list[str]:
    """Return the addresses of sessions with some answers each, which ask on."""
    generator = random.Random(0)
    opened = (open_session(caller, model, answer, generator) for answer in ANSWERS)
    return [f"/ui/sessions/{one['id']}" for one in opened]


def open_session(
    caller: Caller, model: str, n_answers: int, generator: random.Random
) -> dict[str, Any]:
    """Return a session with some answers, which asks on."""
    while True:
        wish = {"model": model, "budget": None, "stop": {"certain": False}}
        session = caller.post("/predict", wish)
        for _ in range(n_answers):
            asked = session["question"]
            value = value_of(asked, generator)
            given = {"feature": asked["feature"], "outcome": "value", "value": value}
            path = f"/predict/{session['id']}/answers"
            session = caller.post(path, {"answers": [given]})
        if not session["should_stop"]:
            return dict(session)


def weigh(reader: Reader, address: str) -> list[int]:
    """Return the bytes of a page and of all that it loads, as sent."""
    page = reader.get(address)
    files = sorted(set(re.findall(r'"(/ui/static/[^"]+)"', page)))
    return [len(one.encode()) for one in (page, *map(reader.get, files))]


def measure_pages(party: Party, model: str, rounds: int, seconds: float) -> Any:
    """Return time, processor time and weight of the page, by 1 and by 4 readers."""
    with ExitStack() as stack:
        caller = stack.enter_context(Caller(party.ports[0]))
        wish = {"name": "pages", "scopes": ["predict:read", "predict:write"]}
        key = caller.post("/keys", wish)["token"]
        addresses = open_sessions(caller, model)
        readers = [
            Reader(stack.enter_context(Caller(party.ports[0]))) for _ in range(4)
        ]
        for number, reader in enumerate(readers):
            reader.sign_in(key)
            own = addresses[number:] + addresses[:number]
            reader.addresses = cycle(own)
        weights = [sum(weigh(readers[0], address)) for address in addresses]
        drive(readers, Reader.read, 1.0)
        blocks: dict[str, list[dict[str, float]]] = {"1": [], "4": []}
        for _ in range(rounds):
            for n_readers in (1, 4):
                found = block(party, readers[:n_readers], seconds)
                blocks[str(n_readers)].append(found)
    told = {
        number: {key: quantiles([one[key] for one in made]) for key in made[0]}
        for number, made in blocks.items()
    }
    return {"readers": told, "bytes": [min(weights), max(weights)]}


def block(party: Party, readers: list[Reader], seconds: float) -> dict[str, float]:
    for page_reader in readers:
        page_reader.seconds = []
    cpu_s = party.cpu_s
    drive(readers, Reader.read, seconds)
    cpu_s = party.cpu_s - cpu_s
    times = [one for reader in readers for one in reader.seconds]
    p50, p99 = np.quantile(times, [0.5, 0.99]) * 1000
    return {"p50_ms": p50, "p99_ms": p99, "cpu_ms": 1000 * cpu_s / len(times)}


def quantiles(values: list[float]) -> list[float]:
    return [round(float(quantile), 3) for quantile in np.quantile(values, [0.5, 0, 1])]
