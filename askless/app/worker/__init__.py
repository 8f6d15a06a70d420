"""The worker process: one thread that watches the queue, and two child processes.

One child computes, the other runs errands, so that neither delays a heartbeat, and the
death of either is noticed at once. With one thread the worker may fork at any time.
"""

import os
import signal
import threading
from multiprocessing.connection import wait

from askless.app.logs import configure_logging, log
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import create_engine
from askless.app.worker.attempts_child import AttemptsChild
from askless.app.worker.chores import Chore
from askless.app.worker.computing import STEP_S
from askless.app.worker.errands import ErrandsChild
from askless.app.worker.watching import Worker

POLLING_S = 0.25
# Seconds between two looks whether the process of errands lives.
REVIVAL_S = 2.0


def run(settings: Settings, parent: int | None = None, step_s: float = STEP_S) -> None:
    """Work until SIGTERM or SIGINT, then hand back what is not finished.

    `parent` is the descriptor of an open file, whose end means the same. An attempt
    stores what it has computed every `step_s` seconds.
    """
    configure_logging(is_beside=parent is not None)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    # One connection in each of the three processes: each does one thing at a time.
    engine = create_engine(settings.url, 1)
    # Connections to the database must not be shared with a child.
    child = AttemptsChild(settings, engine.dispose, step_s)
    worker = Worker(settings, engine, child, stop)
    errands = ErrandsChild(settings, engine.dispose)
    chores = [
        Chore(errands.revive, REVIVAL_S),
        Chore(worker.work, 0.0),
        Chore(worker.do_upkeep, settings.heartbeat_timeout_s / 4),
        Chore(worker.report, settings.heartbeat_timeout_s / 4),
    ]
    while not worker.is_done:
        for chore in chores:
            chore.run_if_due()
        child.wait(POLLING_S, [] if parent is None else [parent])
        # A file that is ready and has nothing to read is at its end.
        if parent is not None and wait([parent], 0) and not os.read(parent, 4096):
            parent = None
            stop.set()
    child.end()
    errands.end()
    Chore(worker.leave, 0.0).run_if_due()
    engine.dispose()
    log("worker.stopped", holder=worker.holder)
