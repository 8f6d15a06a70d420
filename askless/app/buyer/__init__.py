"""The buyer process: carries out runs until SIGTERM, and delivers their webhooks."""

import asyncio
import os
import signal
import sys
from contextlib import suppress

from askless.app.buyer.buyer import RunBuyer
from askless.app.buyer.tracing import CallTracer
from askless.app.logs import configure_logging, log
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import create_engine

# SQLite lets one connection write at a time; more threads would wait for it.
N_CONNECTIONS = 4
# Threads decide while the loop sends. By default a switch takes up to 5 ms, which the
# loop waits for at each system call: 45 calls a second instead of 72, measured.
SWITCH_S = 0.0003


def carry_out_runs(settings: Settings, parent: int | None = None) -> None:
    """Buy until SIGTERM or SIGINT, then wait for the calls that are on their way.

    `parent` is the descriptor of an open file, whose end means the same.
    """
    configure_logging(is_beside=parent is not None)
    sys.setswitchinterval(SWITCH_S)
    engine = create_engine(settings.url, N_CONNECTIONS)
    tracer = CallTracer() if settings.telemetry else None
    buyer = RunBuyer(settings, engine, tracer)
    try:
        asyncio.run(run_until_stopped(buyer, parent))
    finally:
        engine.dispose()
        if tracer is not None:
            tracer.stop()
    log("buyer.stopped", holder=buyer.holder)


async def run_until_stopped(buyer: RunBuyer, parent: int | None) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, buyer.stop.set)

    def read_parent() -> None:
        # A file that is ready and has nothing to read is at its end.
        if parent is not None and not os.read(parent, 4096):
            loop.remove_reader(parent)
            buyer.stop.set()

    if parent is not None:
        with suppress(PermissionError):
            loop.add_reader(parent, read_parent)
    log("buyer.ready", holder=buyer.holder)
    await buyer.work()
