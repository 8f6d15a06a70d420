"""The process of one shard, started by its coordinator.

It ends with its coordinator, however that ends.
"""

import os
import signal
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection

from app.cluster.desk import ShardDesk

PARENT_S = 0.25


def end_with(parent_pid: int) -> None:
    """End as soon as the coordinator has, also in the midst of an order."""
    ended = threading.Event()

    def watch() -> None:
        while os.getppid() == parent_pid:
            ended.wait(PARENT_S)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def be_shard(channel_number: int, file_number: int, parent_pid: int) -> None:
    """Be the process of a shard: take order after order, until nobody gives any."""
    # Ctrl+C is sent to all processes of a terminal; it is the coordinator that acts.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent_pid)
    channel = Connection(channel_number)
    desk = ShardDesk(channel.send_bytes, file_number)
    with suppress(EOFError, ConnectionError):
        while desk.take(channel.recv_bytes()):
            pass


if __name__ == "__main__":
    be_shard(*map(int, sys.argv[1:]))
