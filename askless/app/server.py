"""`askless serve`: the API in this process, worker and buyer as supervised children."""

import gc
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import FrameType

import uvicorn

from askless.app.http.plumbing.layers.connections import BoundedProtocol
from askless.app.main import create_app
from askless.app.processes.supervised import supervise
from askless.app.settings.hosts import is_loopback
from askless.app.settings.settings import Settings

ANSWER_WITHIN_S = 10
# A collection of garbage follows so many new objects; an older generation is collected
# after so many collections of the one before. By Python's 700, 10 and 10 an answer took
# about a twelfth more processor time.
BETWEEN_COLLECTIONS = 20_000, 20, 50


class Server(uvicorn.Server):
    """A server that drains: on a signal it reports unready, then serves on for a while.

    Then it ends its streams and itself. A second signal ends it at once.
    """

    leave_at: float | None = None
    #: says where it serves, once it does
    tell: Callable[[], None] | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # `config.loaded_app` is wrapped by then and has no state.
        """Begin to drain on the first signal; end on the next, or without a drain."""
        state = getattr(self.config.app, "state", None)
        drain_s = 0.0 if state is None else state.settings.drain_s
        if state is not None:
            state.draining = True
        if drain_s and self.leave_at is None:
            self.leave_at = time.monotonic() + drain_s
            return
        if state is not None:
            state.stopping = True
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Show the addresses once kernels are there; end the drain when it is over."""
        state = getattr(self.config.app, "state", None)
        if self.tell is not None and state is not None and state.is_warm.is_set():
            self.tell()
            self.tell = None
        if self.leave_at is not None and time.monotonic() >= self.leave_at:
            self.handle_exit(signal.SIGTERM, None)
            self.leave_at = None
        return await super().on_tick(counter)


def spare_collections() -> None:
    """Collect garbage less often, and never what is imported.

    Imported modules stay for good: a collection that visits them halts every request.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*BETWEEN_COLLECTIONS)


def serve(
    settings: Settings,
    bound: socket.socket,
    *,
    children: Mapping[str, Sequence[str]],
    grace_s: int = ANSWER_WITHIN_S,
    tell: Callable[[], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; requests then have `grace_s` for their answers.

    `children` are commands that run, and end, with the server, such as a worker's, by
    what they are; `tell` is called once requests are answered.
    """
    app = create_app(settings, is_local=is_loopback(bound.getsockname()[0]))
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=grace_s,
    )
    server = Server(config)
    server.tell = tell
    # uvicorn raises a signal again once it has shut down: make that an exit.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    spare_collections()
    with ExitStack() as stack:
        for name, command in children.items():
            stack.enter_context(supervise(name, command))
        server.run(sockets=[bound])
