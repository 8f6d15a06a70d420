"""Shards in child processes, which are replaced when they die."""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import recv_handle
from socket import AF_UNIX, SO_RCVTIMEO, SO_SNDTIMEO, SOCK_STREAM, SOL_SOCKET, fromfd
from struct import Struct
from typing import IO

from askless.app.cluster.desk import ShardDesk
from askless.app.cluster.group import MOST_LOSSES, SILENCE_S, ShardGroup
from askless.app.cluster.handover import write_codes_to_file
from askless.app.processes.child import Child, fork_context
from askless.core.arrays import CodeArray
from askless.core.kernels import use_threads

# A `timeval`: seconds and microseconds.
TIME = Struct("ll")


@dataclass(frozen=True)
class ProcessKind:
    """Settings of the processes of shards.

    A process that is silent for `silence_s` is killed. After `most_losses` deaths in a
    run the next one ends it.
    """

    n_threads: int = 1
    silence_s: int = SILENCE_S
    most_losses: int = MOST_LOSSES


USUAL = ProcessKind()


class ProcessLine:
    """A process that owns one shard, and its successors; see `ShardLine`.

    `file` has the codes of the shard; `close` closes it.
    """

    def __init__(self, file: IO[bytes], kind: ProcessKind) -> None:
        self._file = file
        self._kind = kind
        self._child: Child | None = None

    @property
    def child(self) -> Child:
        """The process that has the shard now."""
        assert self._child is not None, "it was started"
        return self._child

    @property
    def name(self) -> str:
        return f"process {self.child.pid}"

    def start(self) -> None:
        self._child = Child.start(
            fork_context(run_shard), run_shard, self._kind.n_threads
        )
        # For a process that is stopped in the middle of a message.
        timeout = TIME.pack(self._kind.silence_s, 0)
        # The copy of the descriptor is closed; the options stay, since they are the
        # socket's.
        with fromfd(self.child.channel.fileno(), AF_UNIX, SOCK_STREAM) as end:
            for option in (SO_RCVTIMEO, SO_SNDTIMEO):
                end.setsockopt(SOL_SOCKET, option, timeout)
        self.child.send_file(self._file)

    def send(self, packed: bytes) -> bool:
        try:
            self.child.channel.send_bytes(packed)
        except OSError:
            return False
        return True

    def receive(self) -> bytes | None:
        try:
            return self.child.channel.recv_bytes()
        except (EOFError, OSError):
            return None

    def kill(self) -> None:
        self.child.process.kill()

    def end(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None

    def close(self) -> None:
        self.end()
        self._file.close()


def run_shard(channel: Connection, n_threads: int) -> None:
    """Run a shard's process: carry out orders until the channel closes."""
    use_threads(n_threads)
    desk = ShardDesk(channel.send_bytes, recv_handle(channel))
    with suppress(EOFError, ConnectionError):
        desk.handle_orders(channel.recv_bytes)


class ShardProcesses(ShardGroup[ProcessLine], AbstractContextManager["ShardProcesses"]):
    """Processes of this machine, each with a shard; they end with the block.

    `codes` (n_features, n_samples) are those of each shard's rows.
    """

    def __init__(self, codes: Sequence[CodeArray], kind: ProcessKind = USUAL) -> None:
        members = []
        for shard_codes in codes:
            source, file = write_codes_to_file(shard_codes)
            members.append((ProcessLine(file, kind), source))
        self.lines = [line for line, _ in members]
        super().__init__(
            members,
            wait_for_lines,
            silence_s=kind.silence_s,
            most_losses=kind.most_losses,
        )

    def __exit__(self, *raised: object) -> None:
        self.close()

    @property
    def pids(self) -> list[int]:
        """The processes that have the shards now."""
        return [line.child.pid for line in self.lines]


def wait_for_lines(
    lines: Collection[ProcessLine], timeout_s: float
) -> list[ProcessLine]:
    """Wait for messages and deaths; see `Wait`."""
    ready = wait([line.child.channel for line in lines], timeout_s)
    return [line for line in lines if line.child.channel in ready]
