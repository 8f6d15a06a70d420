"""Connect to a shard on a cluster worker, and to the shards that replace it."""

import secrets
import time
from collections.abc import Sequence
from concurrent.futures import TimeoutError as LateError
from contextlib import suppress
from typing import Any

from askless.app.cluster.engine import AWAY, LOOK_S, Cluster, Seat
from askless.app.cluster.group import MOST_LOSSES, SILENCE_S, ShardGroup
from askless.app.cluster.messages import CodeSource
from askless.app.cluster.tasks import cut_pieces
from askless.app.settings.places import ClusterError, to_line

# Workers that don't begin, of which so many are tried before patience ends.
N_TRIES = 4


def assign_shards(
    cluster: Cluster, sources: Sequence[CodeSource], most_losses: int = MOST_LOSSES
) -> ShardGroup["WorkerLine"]:
    """Return shards, each on a worker of its own, which reads its source."""
    members = [(WorkerLine(cluster), source) for source in sources]
    return ShardGroup(
        members, cluster.wait, silence_s=SILENCE_S, most_losses=most_losses
    )


class WorkerLine(Seat):
    """The worker that has a shard, and its successors; see `ShardLine`."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self._cluster = cluster
        self._future: Any = None
        cluster.add(self)

    @property
    def name(self) -> str:
        return f"worker {self.worker}"

    def start(self) -> None:
        """Start the shard on a spare worker; raise ClusterError if none takes it."""
        cluster = self._cluster
        deadline = time.monotonic() + cluster.place.patience_s
        tried: set[str] = set()
        while self.comm is None:
            self.end()
            self.worker = cluster.choose_spare(deadline, tried)
            tried.add(self.worker)
            token = secrets.token_hex(16)
            cluster.expect(token, self)
            self._future = cluster.submit(self.worker, token)
            self._await_shard()

    def send(self, packed: bytes) -> bool:
        """Send a message; return False if the worker is gone or too slow."""
        comm = self.comm
        if comm is None:
            return False
        try:
            self._cluster.call(comm.write(cut_pieces(packed)), SILENCE_S)
        except LateError:
            self._cluster.avoid(self.worker)
            return False
        except OSError:
            return False
        return True

    def receive(self) -> bytes | None:
        return self.inbox.popleft()

    def kill(self) -> None:
        """Abandon the worker: it may be stopped without looking so."""
        self._cluster.avoid(self.worker)
        self._cluster.drop(self)
        self.inbox.append(None)

    def end(self) -> None:
        self._cluster.drop(self)
        if self._future is not None:
            with suppress(*AWAY):
                self._future.cancel(reason="the shard is given up")
        self._future, self.comm, self.worker = None, None, ""
        self.inbox.clear()

    def close(self) -> None:
        self.end()

    def _await_shard(self) -> None:
        """Wait a moment for the task; raise ClusterError if it has failed."""
        cluster = self._cluster
        late = time.monotonic() + cluster.place.patience_s / N_TRIES
        while not cluster.wait_for(lambda: self.comm is not None, LOOK_S):
            if self._future.status == "error":
                error = self._future.exception()
                raise ClusterError(f"{self.name} can't take a shard: {to_line(error)}")
            if self.worker not in cluster.list_workers() or time.monotonic() > late:
                return
