"""Measure buyers: calls a second, and how soon the next purchase is decided.

`python -m benchmarks.buying.speed leads-model.json` begins runs of the demo's leads and
lets one buyer carry them out, on a database of its own, beside a vendor server that
answers after 50 ms; with `--buyers 2` two processes share the runs, as replicas do.
`leads-model.json` is the model of docs/buying.md.
"""

import argparse
import asyncio
import json
import multiprocessing
import socket
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from askless.app.buyer import buyer
from askless.app.buyer.buyer import RunBuyer
from askless.app.buyer.journal import FileCase, FileOrder, Journal, OpenRuns
from askless.app.demo.leads import VENDORS, list_shown
from askless.app.documents.buying.providers import Provider
from askless.app.documents.shape import read_shape
from askless.app.records import StoredRun
from askless.app.service import operations
from askless.app.service.buying.calling.sending import Reply
from askless.app.service.buying.turns import CallOrder, Step
from askless.app.service.models import CheckedModel
from askless.app.settings.environment import read_settings
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import create_engine

LATENCY_S = 0.05
N_CONNECTIONS = 4


def serve_vendors(listening: socket.socket) -> None:
    """Answer each request after a while, as the vendors of the demo would."""
    answers = {lead.domain: lead.answers for lead in list_shown()}

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        vendor = head.split()[1].rpartition("/")[2]
        length = head.lower().partition("content-length: ")[2].split()[0]
        asked = json.loads(await reader.readexactly(int(length)))
        await asyncio.sleep(LATENCY_S)
        body = json.dumps({"company": answers[asked["domain"]][vendor]}).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        await writer.drain()
        writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(answer, sock=listening)
        await server.serve_forever()

    asyncio.run(serve())


def make_providers(port: int) -> dict[str, Provider]:
    return {
        vendor.name: read_shape(
            Provider,
            {
                "fills": vendor.name,
                "request": {
                    "method": "POST",
                    "url": f"http://127.0.0.1:{port}/v1/{vendor.name}",
                    "json": {"domain": "{key.domain}"},
                },
                "read": {name: f"company.{name}" for name in vendor.features},
                "empty": "company == null",
                "timeout_s": 10,
                "idempotency_header": "Idempotency-Key",
                "ceilings": {"day": 1_000_000},
                "at_once": 100,
            },
            vendor.name,
        )
        for vendor in VENDORS
    }


class TimedBuyer(RunBuyer):
    """A buyer that notes how long each answer waits until the next step is decided."""

    def __init__(self, settings: Settings, engine: sa.Engine) -> None:
        super().__init__(settings, engine)
        self.replied: dict[str, float] = {}
        self.decided: list[float] = []

    async def make_call(self, run: StoredRun, order: CallOrder) -> Step:
        step = await super().make_call(run, order)
        self.decided.append(time.perf_counter() - self.replied.pop(order.call.id))
        return step

    async def send(self, order: CallOrder) -> tuple[Reply, int]:
        sent = await super().send(order)
        self.replied[order.call.id] = time.perf_counter()
        return sent


async def carry_out(journal: Journal, running: dict[str, int]) -> None:
    """Let the buyer work until all runs have ended."""
    buying = asyncio.create_task(journal.buyer.work())
    runs = OpenRuns([].append)
    runs.running |= running
    while runs.running:
        await journal.look(runs)
    journal.buyer.stop.set()
    await buying


def help_out(settings: Settings, at_once: int, pipe: Connection) -> None:
    """Buy as another process until told to stop, and then tell the waits."""
    buyer.MOST_RUNS = at_once
    timed = TimedBuyer(settings, create_engine(settings.url, N_CONNECTIONS))
    pipe.send(None)

    async def work() -> None:
        buying = asyncio.create_task(timed.work())
        await asyncio.to_thread(pipe.recv)
        timed.stop.set()
        await buying

    pipe.recv()
    used = time.process_time()
    asyncio.run(work())
    pipe.send((timed.decided, time.process_time() - used))


def measure(options: argparse.Namespace, port: int, folder: Path) -> str:
    """Return the figures of some buyers, as a line."""
    model, n_runs = options.model.read_text("utf-8"), options.runs
    changes = {
        "home": folder,
        "database_url": None,
        "provider_hosts": [f"127.0.0.1:{port}"],
    }
    settings = read_settings().model_copy(update=changes)
    operations.migrate(settings.url)
    timed = TimedBuyer(settings, create_engine(settings.url, N_CONNECTIONS))
    checked, terms = CheckedModel("leads", model), {"budget": 1, "run": True}
    journal = Journal(timed, FileOrder(checked, make_providers(port), terms, ""))
    journal.prepare()
    leads = list_shown()
    running = {}
    for number in range(1, n_runs + 1):
        lead = leads[number % len(leads)]
        case = FileCase(number, {**lead.known}, {"domain": lead.domain})
        running[journal.start(case)] = number
    others = [multiprocessing.Pipe() for _ in range(options.buyers - 1)]
    for _, end in others:
        arguments = (settings, options.at_once, end)
        multiprocessing.Process(target=help_out, args=arguments, daemon=True).start()
    for ours, _ in others:
        ours.recv()
    began, used = time.perf_counter(), time.process_time()
    for ours, _ in others:
        ours.send("begin")
    asyncio.run(carry_out(journal, running))
    elapsed, used = time.perf_counter() - began, time.process_time() - used
    for ours, _ in others:
        ours.send("end")
        decided, seconds = ours.recv()
        timed.decided += decided
        used += seconds
    timed.engine.dispose()
    waits, n_calls = (
        1000 * np.percentile(timed.decided, (50, 90, 99)),
        len(timed.decided),
    )
    return (
        f"{n_calls} calls in {elapsed:.1f} s: {n_calls / elapsed:.0f} a second, "
        f"{1000 * used / n_calls:.1f} ms of processor each; next purchase decided "
        f"after {waits[0]:.1f}, {waits[1]:.1f}, {waits[2]:.1f} ms (p50, p90, p99)"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=10, help="runs of a buyer")
    parser.add_argument("--buyers", type=int, default=1, help="processes")
    options = parser.parse_args()
    buyer.MOST_RUNS = options.at_once
    listening = socket.create_server(("127.0.0.1", 0), backlog=500)
    vendors = multiprocessing.Process(
        target=serve_vendors, args=(listening,), daemon=True
    )
    vendors.start()
    with tempfile.TemporaryDirectory() as folder:
        print(measure(options, listening.getsockname()[1], Path(folder)))
    vendors.terminate()
    vendors.join()


if __name__ == "__main__":
    main()
