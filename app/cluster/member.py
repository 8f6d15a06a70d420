"""One process with a shard, as its coordinator sees it, and its successors."""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from socket import SO_RCVTIMEO, SO_SNDTIMEO, SOL_SOCKET, socketpair
from struct import Struct

from app.cluster.handover import hand_over
from app.cluster.messages import Letter, pack_letter
from core.arrays import FloatArray
from core.table.binning import Binned

MOST_LOSSES = 3
# A process that is silent for so long is given up: it may be stopped, or swapped out.
SILENCE_S = 600
END_S = 5.0
# A `timeval`: seconds and microseconds.
TIME = Struct("ll")


@dataclass
class Traffic:
    """Messages and bytes that went to shards and came from them."""

    n_sent: int = 0
    n_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0


@dataclass(frozen=True)
class ProcessKind:
    """How processes of shards are run.

    One that is silent for `silence_s` is killed. After `most_losses` deaths in a run
    the next one ends it.
    """

    n_threads: int = 1
    silence_s: int = SILENCE_S
    most_losses: int = MOST_LOSSES


USUAL = ProcessKind()


class ShardProcess:
    """A process that owns one shard, and its successors."""

    def __init__(
        self, table: tuple[Binned, FloatArray], kind: ProcessKind, traffic: Traffic
    ) -> None:
        self._handover, self._file = hand_over(*table)
        self._kind = kind
        self._traffic = traffic
        self.start()

    @property
    def pid(self) -> int:
        """The process that has the shard now."""
        return self._process.pid

    def start(self) -> None:
        """Start a process."""
        ours, theirs = socketpair()
        # Of a process that is stopped in the midst of a message.
        for option in (SO_RCVTIMEO, SO_SNDTIMEO):
            ours.setsockopt(SOL_SOCKET, option, TIME.pack(self._kind.silence_s, 0))
        numbers = theirs.fileno(), self._file.fileno()
        paths = [path or os.getcwd() for path in sys.path]
        threads = {"NUMBA_NUM_THREADS": str(self._kind.n_threads)}
        waiting = {"OMP_WAIT_POLICY": "passive", "PYTHONPATH": os.pathsep.join(paths)}
        arguments = [*map(str, numbers), str(os.getpid())]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "app.cluster.shard_process", *arguments],
                env=os.environ | threads | waiting,
                pass_fds=numbers,
                stdin=subprocess.DEVNULL,
            )
        self.channel = Connection(ours.detach())
        self._is_new = True

    def send(self, letters: Sequence[Letter]) -> bool:
        """Send messages, to a new process its rows first; whether it took them."""
        if self._is_new:
            letters = [Letter(0, self._handover), *letters]
        self._is_new = False
        try:
            for letter in letters:
                packed = pack_letter(letter)
                self.channel.send_bytes(packed)
                self._traffic.n_sent += 1
                self._traffic.bytes_sent += len(packed)
        except OSError:
            return False
        return True

    def receive(self) -> bytes | None:
        """Return a message that has come; None where the process has died."""
        try:
            letter = self.channel.recv_bytes()
        except (EOFError, OSError):
            return None
        self._traffic.n_received += 1
        self._traffic.bytes_received += len(letter)
        return letter

    def kill(self) -> None:
        """Kill the process, which then has died like any other."""
        self._process.kill()

    def end(self) -> None:
        """Let go of the process: it is killed, unless it has died."""
        self.channel.close()
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)

    def close(self) -> None:
        """End the process and free the rows."""
        self.end()
        self._file.close()
