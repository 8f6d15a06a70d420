"""Servers that a test may kill: one address, one process after another.

They are forked from a process that has imported the application, so that one starts
in a moment; the socket is opened before, so that no request comes too early.
"""

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.context import ForkServerProcess
from threading import Barrier

import httpx
import uvicorn

from askless.app.main import create_app
from askless.app.processes.child import FORKSERVER, set_preloaded
from askless.app.settings.settings import Settings

CONTEXT = FORKSERVER
set_preloaded("tests.app.preloaded")


class Server:
    """One address, served by one process after another."""

    def __init__(self, settings: Settings, *, knows_address: bool = False) -> None:
        # With the protocol named, asyncio switches off Nagle's algorithm.
        kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.listener = socket.socket(*kind)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(512)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        known = {"address": self.url} if knows_address else {}
        self.settings = settings.model_copy(update=known)
        self.process = self.start()

    def start(self) -> ForkServerProcess:
        process = CONTEXT.Process(target=serve, args=(self.listener, self.settings))
        process.start()
        return process

    def restart(self, settings: Settings) -> None:
        """Start the next process with other settings."""
        self.settings = settings
        self.kill()

    def kill(self) -> None:
        """End the server as a power failure would, and start the next one."""
        self.process.kill()
        self.process.join()
        self.process = self.start()

    def close(self) -> None:
        self.process.terminate()
        self.process.join(10)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.listener.close()


def serve(listener: socket.socket, settings: Settings) -> None:
    config = uvicorn.Config(
        create_app(settings, is_local=True),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=2,
    )
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])


def at_once(*calls: Callable[[], httpx.Response]) -> list[httpx.Response]:
    """Make all calls in the same moment."""
    barrier = Barrier(len(calls))

    def run(call: Callable[[], httpx.Response]) -> httpx.Response:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
