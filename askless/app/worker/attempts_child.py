"""The child process of a worker that makes attempts at trainings and jobs."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from logging import WARNING
from multiprocessing.connection import Connection, wait
from typing import Any

from askless.app.logs import log
from askless.app.processes.child import FORK, Child, ChildLostError
from askless.app.processes.memory import count_kills, raise_kill_priority
from askless.app.records import StoredJob
from askless.app.settings.settings import Settings
from askless.app.store.blobs import Blobs
from askless.app.store.database.engine import create_engine
from askless.app.worker.computing import STEP_S, Computer
from askless.core.warm import warm_up

READY = "ready"


@dataclass
class AttemptsChild:
    """A process that makes one attempt after another, and its successors."""

    settings: Settings
    #: closes what the child must not inherit
    prepare: Callable[[], None]
    step_s: float = STEP_S
    child: Child | None = None
    is_ready: bool = False
    #: how many processes the system had killed when the attempt began
    n_kills: int | None = None

    def revive(self) -> bool:
        """Start the process unless it lives; return whether it can begin an attempt.

        A process that died while it had no job is replaced; no job is blamed for it.
        Raises ChildLostError if it dies before it is ready.
        """
        if self.child is not None and self.is_ready and not self.child.is_alive:
            log("child.lost", WARNING, code=self.child.process.exitcode)
            self.end()
        if self.child is None:
            self.prepare()
            self.n_kills = count_kills()
            signals = [signal.SIGKILL]
            if self.settings.max_training_bytes:
                # A process aborts itself if it is refused memory.
                signals.append(signal.SIGABRT)
            self.child = Child.start(
                *(FORK, compute_attempts, self.settings, self.step_s),
                memory_signals=signals,
                has_children=True,
            )
        elif not self.is_ready:
            # The first message of a process says that it is ready.
            self.is_ready = self.find_outcome() == READY
        return self.is_ready

    def begin(self, training: StoredJob) -> None:
        """Hand over a training that is claimed."""
        assert self.child is not None
        self.n_kills = count_kills()
        self.child.send(training)

    def wait(self, timeout_s: float, more: list[int]) -> None:
        """Wait until there is an outcome, the process has ended, or `more` is ready."""
        sources: list[Any] = [*more]
        if self.child is not None and self.child.is_alive:
            sources += [self.child.channel, self.child.process.sentinel]
        wait(sources, timeout_s)

    def find_outcome(self) -> str | None:
        """Return an attempt's outcome, None if open; raise ChildLostError."""
        assert self.child is not None
        if self.child.is_alive and not self.child.channel.poll():
            return None
        try:
            return str(self.child.receive())
        except ChildLostError as lost:
            # A kill that the system has not counted was somebody else's.
            is_counted = self.n_kills is None or count_kills() != self.n_kills
            lost.is_out_of_memory &= lost.code != -signal.SIGKILL or is_counted
            raise

    def ask_to_stop(self) -> None:
        """Have the attempt in progress handed back at the end of its step.

        An attempt that still reads its table has no results, so its process ends.
        """
        if self.child is not None:
            self.child.process.terminate()

    def kill(self) -> None:
        """Kill the process; `find_outcome` then raises."""
        if self.child is not None:
            self.child.process.kill()

    def end(self) -> None:
        """Kill the process, if there is one, and let go of it."""
        if self.child is not None:
            self.child.end()
            self.child, self.is_ready = None, False


def compute_attempts(channel: Connection, settings: Settings, step_s: float) -> None:
    """Run the child: make attempts until the worker ends it."""
    stop = stop_on_sigterm()
    raise_kill_priority(500)
    engine = create_engine(settings.url, 1)
    blobs = Blobs(settings.blobs_url)
    computer = Computer(settings, engine, blobs, stop, let_sigterm_end, step_s)
    warm_up()
    log("child.ready", pid=os.getpid())
    channel.send(READY)
    while True:
        channel.send(computer.work(channel.recv()))


@contextmanager
def let_sigterm_end() -> Iterator[None]:
    """Let SIGTERM end this process at once while the block runs.

    A handler of ours would run only once the native code that reads a table returns.
    """
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def stop_on_sigterm() -> threading.Event:
    """Return an event that SIGTERM sets, by which a worker asks a child to stop."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    return stop
