"""Shards in processes of this machine, started here and replaced when they die."""

import os
import subprocess
import sys
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from socket import SO_RCVTIMEO, SO_SNDTIMEO, SOL_SOCKET, socketpair
from struct import Struct
from typing import IO

from app.cluster.group import MOST_LOSSES, SILENCE_S, ShardGroup
from app.cluster.handover import hand_over
from core.arrays import CodeArray

END_S = 5.0
# A `timeval`: seconds and microseconds.
TIME = Struct("ll")


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


class ProcessLine:
    """A process that owns one shard, and its successors; see `ShardLine`.

    `file` has its codes, and goes with the last of them.
    """

    def __init__(self, file: IO[bytes], kind: ProcessKind) -> None:
        self._file = file
        self._kind = kind
        self._process: subprocess.Popen[bytes] | None = None
        self.channel: Connection

    @property
    def pid(self) -> int:
        """The process that has the shard now."""
        assert self._process is not None, "it was started"
        return self._process.pid

    @property
    def name(self) -> str:
        return f"process {self.pid}"

    def start(self) -> None:
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

    def send(self, packed: bytes) -> bool:
        try:
            self.channel.send_bytes(packed)
        except OSError:
            return False
        return True

    def receive(self) -> bytes | None:
        try:
            return self.channel.recv_bytes()
        except (EOFError, OSError):
            return None

    def kill(self) -> None:
        assert self._process is not None, "it was started"
        self._process.kill()

    def end(self) -> None:
        if self._process is not None:
            self.channel.close()
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
            self._process = None

    def close(self) -> None:
        self.end()
        self._file.close()


class ShardProcesses(ShardGroup[ProcessLine], AbstractContextManager["ShardProcesses"]):
    """Processes of this machine, each with a shard; they end with the block.

    `codes` (n_features, n_samples) are those of each shard's rows.
    """

    def __init__(self, codes: Sequence[CodeArray], kind: ProcessKind = USUAL) -> None:
        members = []
        for its in codes:
            source, file = hand_over(its)
            members.append((ProcessLine(file, kind), source))
        self.lines = [line for line, _ in members]
        super().__init__(
            members,
            wait_for,
            silence_s=kind.silence_s,
            most_losses=kind.most_losses,
        )

    def __exit__(self, *raised: object) -> None:
        """End the processes."""
        self.close()

    @property
    def pids(self) -> list[int]:
        """The processes that have the shards now."""
        return [line.pid for line in self.lines]


def wait_for(lines: Collection[ProcessLine], timeout_s: float) -> list[ProcessLine]:
    """Wait for messages and deaths; see `Wait`."""
    ready = wait([line.channel for line in lines], timeout_s)
    return [line for line in lines if line.channel in ready]
