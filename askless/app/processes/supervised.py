"""A command that runs as long as a block does, and is started again when it dies."""

import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from askless.app.logs import log

RESTART_AFTER_S = 1.0
STOP_WITHIN_S = 20.0


@contextmanager
def supervise(name: str, command: Sequence[str]) -> Iterator[None]:
    """Keep one process running while the block does.

    No `Child`: it is a command of its own, which hands back what it holds before it
    ends. It does so on SIGTERM, and when its standard input ends with this process.
    """
    is_stopping = threading.Event()
    current: list[subprocess.Popen[bytes]] = []

    def keep_running() -> None:
        while not is_stopping.is_set():
            child = subprocess.Popen(command, stdin=subprocess.PIPE)
            current[:] = [child]
            log(f"{name}.started", pid=child.pid)
            code = child.wait()
            if not is_stopping.is_set():
                log(f"{name}.lost", pid=child.pid, code=code)
                is_stopping.wait(RESTART_AFTER_S)

    thread = threading.Thread(target=keep_running, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_stopping.set()
        for child in current:
            child.terminate()
            try:
                child.wait(STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                child.kill()
        thread.join(STOP_WITHIN_S)
