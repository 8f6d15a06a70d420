"""Clients that play sessions: one thread and one open connection each."""

import json
import random
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Barrier
from typing import Any

TIMEOUT_S = 60.0
# Answers of a session with the bare handler.
N_FEATURES = 13
JSON = "Content-Type: application/json\r\n"


class Caller:
    """One connection; a plain socket, since a library would take longer than we do."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        #: of the last response
        self.head = ""

    def __enter__(self) -> "Caller":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(
        self, method: str, path: str, body: Any = None, headers: str = JSON
    ) -> tuple[int, bytes]:
        """Send a request; the status and the body that come back."""
        content = body if isinstance(body, bytes) else b""
        if body is not None and not content:
            content = json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        self.socket.sendall(head.encode() + content)
        head, found = "", b""
        while not head:
            part = self.socket.recv(65536)
            assert part, "the server hung up"
            found += part
            before, end, after = found.partition(b"\r\n\r\n")
            if end:
                head, found = before.decode(), after
        self.head = head
        length = int(
            head.lower().partition("content-length: ")[2].partition("\r\n")[0] or 0
        )
        while len(found) < length:
            found += self.socket.recv(65536)
        return int(head[9:12]), found

    def post(self, path: str, body: Any, *statuses: int) -> Any:
        """Return what a request is answered with, which must not fail."""
        status, found = self.ask("POST", path, body)
        assert status in (statuses or (200, 201)), (status, found)
        return json.loads(found)


@dataclass
class Player:
    """One client and the sessions that it plays: what to send next, and to whom."""

    caller: Caller
    #: None: the bare handler, whose answers are of the features of a made-up model
    model: str | None
    random: random.Random
    session: dict[str, Any] | None = None
    seconds: list[float] = field(default_factory=list)
    #: opened before, so that answers alone are timed
    stock: list[dict[str, Any]] = field(default_factory=list)
    number: int = 0

    def open(self) -> dict[str, Any]:
        if self.model is None:
            made: dict[str, Any] = self.caller.post("/predict", {})
            return made
        wish = {"model": self.model, "budget": None, "stop": {"certain": False}}
        made = self.caller.post("/predict", wish)
        return made

    def prepare(self) -> tuple[str, dict[str, Any]]:
        """Return the path and body of the next answer; open a session where needed."""
        if self.session is None:
            self.session = self.stock.pop() if self.stock else self.open()
        path = f"/predict/{self.session['id']}/answers"
        if self.model is None:
            self.number += 1
            given = {"feature": f"f{self.number}", "value": 1.5, "micros": 1_000_000}
        else:
            question = self.session["question"]
            value = value_of(question, self.random)
            given = {"feature": question["feature"], "value": value}
        return path, {"answers": [{**given, "outcome": "value"}]}

    def answer(self) -> None:
        """Answer one question; only this is timed."""
        path, body = self.prepare()
        started = time.perf_counter()
        status, found = self.caller.ask("POST", path, body)
        self.seconds.append(time.perf_counter() - started)
        assert status == 200, found
        session = json.loads(found)
        if self.model is None:
            is_over, self.number = self.number == N_FEATURES, self.number % N_FEATURES
        else:
            is_over = session["question"] is None
        self.session = None if is_over else session

    def start(self) -> None:
        """Open a session; only this is timed."""
        started = time.perf_counter()
        self.open()
        self.seconds.append(time.perf_counter() - started)


def value_of(question: dict[str, Any], generator: random.Random) -> Any:
    if question["type"] == "category":
        return generator.choice(question["categories"])
    if question["type"] == "boolean":
        return generator.random() < 0.5
    # Others may be refused: a feature may have bounds.
    return round(generator.uniform(*question["range"]), 1)


@contextmanager
def players(
    ports: Sequence[int], model: str | None, n_clients: int, seed: int
) -> Iterator[list[Player]]:
    """Clients over all of the ports in turn."""
    made = [
        Player(
            Caller(ports[place % len(ports)]), model, random.Random(f"{seed}/{place}")
        )
        for place in range(n_clients)
    ]
    try:
        yield made
    finally:
        for one in made:
            one.caller.socket.close()


def drive(
    clients: Sequence[Player],
    act: Callable[[Player], None],
    seconds: float,
    rate: float | None = None,
) -> float:
    """Let clients act for some seconds, at a rate or as fast as they are answered.

    Return the seconds that it took. At a rate each client has moments at which it
    sends, and what is late counts as late: the time of an answer runs from the moment
    at which it was to be sent.
    """
    barrier = Barrier(len(clients) + 1)

    def run(place: int) -> None:
        client = clients[place]
        barrier.wait()
        start = time.perf_counter()
        if rate is None:
            while time.perf_counter() < start + seconds:
                act(client)
            return
        pause = len(clients) / rate
        moment = start + pause * client.random.random()
        while moment < start + seconds:
            time.sleep(max(0.0, moment - time.perf_counter()))
            late = time.perf_counter() - moment
            act(client)
            client.seconds[-1] += max(0.0, late)
            moment += pause

    with ThreadPoolExecutor(len(clients)) as pool:
        running = [pool.submit(run, place) for place in range(len(clients))]
        barrier.wait()
        started = time.perf_counter()
        for task in running:
            task.result()
        return time.perf_counter() - started
