"""The processes that a worker forks: one that computes, one for errands.

A child ends with its worker, however that ends.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from logging import WARNING
from multiprocessing.connection import Connection, wait
from typing import Any

from app.logs import log
from app.records import StoredJob
from app.settings.settings import Settings
from app.store.blobs import Blobs
from app.store.database.engine import create_engine
from app.worker.computing import Computer
from app.worker.limits import be_killed_first, count_kills
from core.warm import warm_up

# Not `spawn`: imports take seconds. A worker has one thread, so it may fork.
FORK = multiprocessing.get_context("fork")
PARENT_S = 0.25
READY = "ready"


class ChildLostError(Exception):
    """The process that made an attempt has died."""

    def __init__(self, code: int | None, *, is_out_of_memory: bool) -> None:
        self.code = code
        self.is_out_of_memory = is_out_of_memory
        super().__init__(f"exit code {code}")


@dataclass
class Child:
    """A process that makes one attempt after another, from a fork on."""

    settings: Settings
    #: closes what must not be inherited
    prepare: Callable[[], None]
    process: Any = None
    channel: Connection | None = None
    is_ready: bool = False
    #: once its death was told
    is_gone: bool = False
    n_kills: int | None = None

    def revive(self) -> bool:
        """Start the process unless it lives; whether it can begin.

        One that died while it had nothing to do says nothing of the next training.
        """
        if self.is_ready and self.process.exitcode is not None:
            log("child.lost", WARNING, code=self.process.exitcode)
            self.end()
        if self.channel is None:
            ours, theirs = FORK.Pipe()
            self.prepare()
            self.is_ready = self.is_gone = False
            self.n_kills, self.channel = count_kills(), ours
            self.process = FORK.Process(
                target=compute, args=(self.settings, ours, theirs), name="attempts"
            )
            self.process.start()
            theirs.close()
        elif not self.is_ready:
            self.is_ready = self.find_outcome() == READY
        return self.is_ready

    def begin(self, training: StoredJob) -> None:
        """Hand over a training that is claimed."""
        assert self.channel is not None
        self.n_kills = count_kills()
        self.channel.send(training)

    def wait(self, timeout_s: float, more: list[int]) -> None:
        """Wait until there is an outcome, the process has ended, or `more` is ready."""
        heard: list[Any] = [*more]
        if self.channel is not None and not self.is_gone:
            heard += [self.channel, self.process.sentinel]
        wait(heard, timeout_s)

    def find_outcome(self) -> str | None:
        """Return what became of an attempt, once it has ended.

        Raises `ChildLostError` where the process has died, as often as it is asked.
        """
        assert self.channel is not None
        try:
            if self.channel.poll():
                return str(self.channel.recv())
        except (EOFError, OSError):
            self.process.join(PARENT_S)
        if self.process.exitcode is None:
            return None
        self.is_gone, code = True, self.process.exitcode
        kills = count_kills()
        # The system kills by SIGKILL; it aborts itself where memory can't be had.
        is_told = kills is None or kills != self.n_kills
        is_aborted = code == -signal.SIGABRT and self.settings.max_training_bytes
        is_short = (code == -signal.SIGKILL and is_told) or bool(is_aborted)
        raise ChildLostError(code, is_out_of_memory=is_short)

    def ask_to_stop(self) -> None:
        """Have the attempt in progress handed back at the end of its step.

        One that still reads its table has nothing to hand over: its process ends.
        """
        if self.channel is not None:
            self.process.terminate()

    def kill(self) -> None:
        """Kill the process, whose death is then found."""
        self.process.kill()

    def end(self) -> None:
        """Kill the process, if there is one, and let go of it."""
        if self.channel is not None:
            self.process.kill()
            self.process.join()
            self.channel.close()
            self.channel, self.is_ready = None, False


def compute(settings: Settings, others: Connection, channel: Connection) -> None:
    """Be the child: make the attempts that come, until the worker ends it."""
    others.close()
    stop = live_as_child()
    be_killed_first()
    engine = create_engine(settings.url, settings.worker_connections)
    blobs = Blobs(settings.blobs_url)
    computer = Computer(settings, engine, blobs, stop, expendable)
    warm_up()
    log("child.ready", pid=os.getpid())
    channel.send(READY)
    while True:
        channel.send(computer.work(channel.recv()))


@contextmanager
def expendable() -> Iterator[None]:
    """Let the system end this process at once where it is asked to stop in the block.

    A handler of ours has to wait until what reads a table comes back.
    """
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def live_as_child() -> threading.Event:
    """Return what a worker's asking to stop sets; end where the worker has ended."""
    stop, ended = threading.Event(), threading.Event()
    worker = multiprocessing.parent_process()
    assert worker is not None, "a worker has forked this process"
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    # Ctrl+C is sent to all processes of a terminal; it is the worker that acts.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == worker.pid:
            ended.wait(PARENT_S)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()
    return stop
