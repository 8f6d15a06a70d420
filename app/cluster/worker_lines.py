"""How the shard on a worker of a cluster is reached, and that on the next worker."""

import secrets
import time
from collections import deque
from concurrent.futures import CancelledError as GivenUpError
from concurrent.futures import TimeoutError as LateError
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from distributed.client import ClosedClientError

from app.cluster.group import SILENCE_S
from app.cluster.places import ClusterError, say
from app.cluster.tasks import cut_pieces

if TYPE_CHECKING:
    from app.cluster.engine import Cluster

LOOK_S = 0.5
# Workers that are tried, as long as each does not begin, before patience ends.
N_TRIES = 4
#: What is raised where the cluster, or a worker, is gone.
AWAY = (OSError, LateError, GivenUpError, ClosedClientError)


class WorkerLine:
    """A worker that has a shard, and those that have it after it; see `ShardLine`."""

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        #: the worker's address; "": it has none
        self.worker = ""
        self.inbox: deque[bytes | None] = deque()
        self.comm: Any = None
        self._future: Any = None

    @property
    def name(self) -> str:
        return f"worker {self.worker}"

    def start(self) -> None:
        """Find a worker that takes the shard.

        Raises `ClusterError` where none does for as long as the patience lasts.
        """
        cluster = self._cluster
        deadline = time.monotonic() + cluster.place.patience_s
        tried: set[str] = set()
        while self.comm is None:
            self.end()
            self.worker = cluster.find_spare(deadline, tried)
            tried.add(self.worker)
            token = secrets.token_hex(16)
            cluster.expect(token, self)
            self._future = cluster.submit(self.worker, token)
            self._await_shard()

    def send(self, packed: bytes) -> bool:
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
        """Have done with the worker: it may be stopped, and not look so."""
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
        """Wait until the task has called, but not long: its worker may be busy."""
        cluster = self._cluster
        late = time.monotonic() + cluster.place.patience_s / N_TRIES
        while not cluster.wait_for(lambda: self.comm is not None, LOOK_S):
            if self._future.status == "error":
                error = self._future.exception()
                raise ClusterError(f"{self.name} can't take a shard: {say(error)}")
            if self.worker not in cluster.find_workers() or time.monotonic() > late:
                return
