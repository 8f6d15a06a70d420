"""One way to run a process: how it starts, what it sends, why it ended.

A child ends with its parent, however that ends. There are two ways to start one:

- `forkserver(function)`, for every parent that may have threads: a lock that another
  thread holds at a fork stays locked in the child. The process that children are forked
  from imports their modules once; importing takes 1 to 3 seconds in each child else.
- `FORK`, for a worker: it has one thread, and has imported all that its children need.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext, ForkServerContext
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import send_handle
from typing import IO, Any, Self

from askless.core.errors import CoreError

FORK = multiprocessing.get_context("fork")
FORKSERVER = multiprocessing.get_context("forkserver")
# Modules that the process which children are forked from imports at its start.
PRELOADED: list[str] = []
LAST = "askless.app.processes.frozen"
# A process that has closed its channel ends within this time.
END_S = 5.0


class ChildLostError(CoreError):
    """A child process ended before its work was done.

    `code` is its exit code, a negative one the number of a signal; None: unknown.
    """

    def __init__(
        self, words: str, code: int | None = None, *, is_out_of_memory: bool = False
    ) -> None:
        self.code = code
        self.is_out_of_memory = is_out_of_memory
        super().__init__(words)

    @property
    def is_out_of_time(self) -> bool:
        """Whether the process passed its limit of processor time."""
        return self.code == -signal.SIGXCPU


@dataclass
class Child:
    """A process that this one started, with a channel to it.

    Two threads must not start, receive or end at the same time: multiprocessing then
    polls all children of the process, which is not thread-safe.
    """

    process: BaseProcess
    channel: Connection
    #: a child that one of these signals ends had too little memory
    memory_signals: Collection[signal.Signals]

    @classmethod
    def start(
        cls,
        context: ForkContext | ForkServerContext,
        run: Callable[..., None],
        *arguments: Any,
        memory_signals: Collection[signal.Signals] = (signal.SIGKILL,),
        has_children: bool = False,
    ) -> Self:
        """Start a process that calls `run(channel, *arguments)` and then ends."""
        ours, theirs = context.Pipe()
        process = context.Process(
            target=run_as_child, args=(run, theirs, *arguments), daemon=not has_children
        )
        # With the child's end closed here, its death is the end of the channel.
        with theirs:
            process.start()
        return cls(process, ours, memory_signals)

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self.process.pid is not None, "it was started"
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self.process.exitcode is None

    def send(self, message: object) -> None:
        """Send a message; a child that is dead is noticed by `receive`."""
        with suppress(OSError):
            self.channel.send(message)

    def send_file(self, file: IO[bytes]) -> None:
        """Send an open file, for `recv_handle`; as `send`."""
        with suppress(OSError):
            send_handle(self.channel, file.fileno(), self.pid)

    def receive(self) -> Any:
        """Return the next message or raise it; raise ChildLostError after death."""
        try:
            message = self.channel.recv()
        except (EOFError, OSError):
            raise self.death() from None
        if isinstance(message, Exception):
            raise message
        return message

    def death(self) -> ChildLostError:
        """Return the reason why the process has ended."""
        self.process.join(END_S)
        code = self.process.exitcode
        is_short = code is not None and -code in self.memory_signals
        words = f"A child process ended with code {code}."
        return ChildLostError(words, code, is_out_of_memory=is_short)

    def end(self) -> None:
        """Kill the process and close the channel."""
        self.process.kill()
        self.process.join()
        self.channel.close()


def fork_context(function: Callable[..., Any]) -> ForkServerContext:
    """Return the context whose server process forks children.

    That process has imported the module of `function`. It is started with the first
    child, and stays; see also `set_preloaded`.
    """
    if not PRELOADED:
        FORKSERVER.set_forkserver_preload([function.__module__, LAST])
    return FORKSERVER


def set_preloaded(*modules: str) -> None:
    """Have these modules imported before the first child is forked.

    For a parent whose children run functions of several modules. It is called by the
    room that has the functions, or by one above it.
    """
    PRELOADED.extend(name for name in modules if name not in PRELOADED)
    FORKSERVER.set_forkserver_preload([*PRELOADED, LAST])


def run_as_child(
    run: Callable[..., None], channel: Connection, *arguments: Any
) -> None:
    """Run a function in the child process, and end with the parent."""
    # A terminal sends Ctrl+C to all its processes; the parent decides what follows.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Numba makes a lock in the manner named here. Only a forked process's lock has no
    # name; a named one is left over, with a warning, by a process that is killed.
    multiprocessing.set_start_method("fork", force=True)
    end_with_parent()
    run(channel, *arguments)


def end_with_parent() -> None:
    """End this child process as soon as its parent has ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "this runs in a child"

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()
