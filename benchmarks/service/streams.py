"""`python -m benchmarks.service.streams`: `/models` beside many open event streams.

A server, and one training that nobody computes; its events are written as a worker
would, several a second. `/models` is asked at a steady rate, without streams and with
`--streams` of them open on the training, in turn; they are read by a process of their
own. A line of JSON says the percentiles of each round and their ratios.
"""

import argparse
import asyncio
import json
import multiprocessing
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from askless.app.records import DEFAULT_TENANT
from askless.app.store import jobs
from askless.app.store.database.engine import create_engine, transaction
from benchmarks.service.clients import Caller
from benchmarks.service.servers import ROOT, Party, database, served

SPEC = {"target": "y", "name": "followed"}
TABLE = "a,y\n" + "1,0\n2,1\n" * 30


def start_training(caller: Caller) -> str:
    """Put a training into the queue, which no worker takes."""
    form = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{text}\r\n'
        for name, more, text in (
            ("dataset", '; filename="t.csv"', TABLE),
            ("spec", "", json.dumps(SPEC)),
        )
    )
    kind = "Content-Type: multipart/form-data; boundary=x\r\n"
    body = f"{form}--x--\r\n".encode()
    status, answer = caller.ask("POST", "/train", body, kind)
    assert status == 202, answer
    return str(json.loads(answer)["id"])


@contextmanager
def events(url: str, training_id: str, per_s: float) -> Iterator[None]:
    """Write events of progress, as a worker does."""
    is_over = threading.Event()

    def write() -> None:
        engine = create_engine(url, 1)
        share = 0.0
        while not is_over.wait(1 / per_s):
            share = min(0.99, share + 0.0001)
            with transaction(engine, DEFAULT_TENANT) as db:
                more = {"state": "running", "part": 1, "parts": 6}
                now = datetime.now(UTC)
                jobs.add_event(db, training_id, "progress", now, share, **more)
        engine.dispose()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        is_over.set()
        writer.join()


async def follow(port: int, path: str, n_streams: int, end: Connection) -> None:
    """Hold streams open and read them, until told to end."""
    n_bytes = 0
    opened = 0

    async def read(number: int) -> None:
        nonlocal n_bytes, opened
        # One after the other, as browsers come.
        await asyncio.sleep(number / 200)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        writer.write(head.encode())
        status = await reader.readline()
        assert b" 200 " in status, status
        opened += 1
        while part := await reader.read(65536):
            n_bytes += len(part)

    reading = [asyncio.create_task(read(number)) for number in range(n_streams)]
    while opened < n_streams:
        await asyncio.sleep(0.1)
        for task in reading:
            assert not task.done(), task.exception() or "a stream ended"
    before = n_bytes
    end.send(None)
    while not end.poll():
        await asyncio.sleep(0.1)
    end.send((n_bytes - before, sum(task.done() for task in reading)))
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)


def run_followers(port: int, path: str, n_streams: int, end: Connection) -> None:
    asyncio.run(follow(port, path, n_streams, end))


def ask_models(party: Party, seconds: float, per_s: float) -> dict[str, float]:
    """Ask for `/models` at a rate; a time runs from when it was to be sent."""
    times = []
    with Caller(party.ports[0]) as caller:
        begun, moment = time.perf_counter(), time.perf_counter()
        while moment < begun + seconds:
            time.sleep(max(0.0, moment - time.perf_counter()))
            status, _ = caller.ask("GET", "/models")
            assert status == 200
            times.append(time.perf_counter() - moment)
            moment += 1 / per_s
    p50, p99 = np.quantile(times, [0.5, 0.99]) * 1000
    return {"p50_ms": round(float(p50), 2), "p99_ms": round(float(p99), 2)}


def measure(party: Party, path: str, asked: argparse.Namespace) -> dict[str, Any]:
    """One round: without streams, then with them."""
    without = ask_models(party, asked.seconds, asked.rate)
    ours, theirs = multiprocessing.Pipe()
    words = (party.ports[0], path, asked.streams, theirs)
    followers = multiprocessing.Process(target=run_followers, args=words)
    started = time.perf_counter()
    followers.start()
    ours.recv()
    opened_s = time.perf_counter() - started
    cpu_s = party.cpu_s
    beside = ask_models(party, asked.seconds, asked.rate)
    cpu_s = party.cpu_s - cpu_s
    ours.send(None)
    n_bytes, n_ended = ours.recv()
    followers.join()
    return {
        "without": without,
        "with": beside,
        "p99_ratio": round(beside["p99_ms"] / without["p99_ms"], 2),
        "cpu": round(cpu_s / asked.seconds, 2),
        "opened_s": round(opened_s, 1),
        "mb_streamed": round(n_bytes / 1e6, 1),
        "ended": n_ended,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--rate", type=float, default=20.0, help="asked a second")
    parser.add_argument("--events", type=float, default=4.0, help="written a second")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with database("sqlite") as url, served("askless", ROOT, url) as party:
        with Caller(party.ports[0]) as caller:
            training_id = start_training(caller)
        ask_models(party, 2.0, asked.rate)
        path = f"/train/{training_id}/events"
        with events(url, training_id, asked.events):
            for _ in range(asked.rounds):
                print(json.dumps(measure(party, path, asked)), flush=True)


if __name__ == "__main__":
    main()
