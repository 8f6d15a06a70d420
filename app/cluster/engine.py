"""A Dask cluster: its workers take shards, one each, and talk with us by its wire.

The engine only finds a worker for a shard and starts a long task there. All that comes
back is numbers and JSON, over the encrypted connections that the cluster itself uses.
"""

import asyncio
import time
from collections.abc import Collection, Coroutine, Sequence
from concurrent.futures import TimeoutError as LateError
from contextlib import AbstractContextManager, suppress
from threading import Condition
from typing import Any

from distributed import Client, Security
from distributed.comm import CommClosedError, listen
from distributed.utils import get_ip

from app.cluster.group import MOST_LOSSES, SILENCE_S, ShardGroup
from app.cluster.messages import CodeSource
from app.cluster.places import ADDRESS, ClusterError, ClusterPlace, say
from app.cluster.tasks import join_pieces, serve_shard
from app.cluster.versions import core_version
from app.cluster.worker_lines import AWAY, LOOK_S, WorkerLine
from core.errors import Refusal, RefusedError

CONNECT_S = 20
END_S = 5


class Cluster(AbstractContextManager["Cluster"]):
    """A connection to a cluster, and what listens for its workers; a context.

    Raises RefusedError where nobody answers there, or lets us in.
    """

    def __init__(self, place: ClusterPlace) -> None:
        self.place = place
        self._news = Condition()
        self._expected: dict[str, WorkerLine] = {}
        self._lines: list[WorkerLine] = []
        self._avoided: set[str] = set()
        security = Security(
            tls_ca_file=place.ca and str(place.ca),
            tls_client_cert=place.cert and str(place.cert),
            tls_client_key=place.key and str(place.key),
            require_encryption=place.is_encrypted,
        )
        try:
            self._client = Client(
                place.address,
                security=security,
                timeout=CONNECT_S,
                set_as_default=False,
            )
        except (OSError, LateError) as error:
            rule = (
                "must be a scheduler that answers, with certificates of one authority"
            )
            raise RefusedError([Refusal(ADDRESS, rule, cause_of(error))]) from None
        scheme = place.address.partition("://")[0]
        own = f"{scheme}://{get_ip(place.host)}:0"
        kind = security.get_listen_args("client")

        async def begin() -> Any:
            return await listen(own, self._hear, deserialize=False, **kind)

        try:
            self._listener = self.call(begin())
        except BaseException:
            self._client.close(timeout=END_S)
            raise
        self.here: str = self._listener.contact_address

    def __exit__(self, *raised: object) -> None:
        """Let go of the workers, and leave."""
        for line in self._lines:
            line.close()
        self._client.loop.add_callback(self._listener.stop)
        with suppress(*AWAY):
            self._client.close(timeout=END_S)

    def count_shards(self, wanted: int | None) -> int:
        """Return how many shards there are to be; None: as many as workers.

        Workers may be on their way: raises `ClusterError` where too few are there once
        patience ends.
        """
        least = wanted or 1
        deadline = time.monotonic() + self.place.patience_s
        while (n_workers := len(self.find_workers())) < least:
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"The cluster has too few workers: {n_workers} for {least} shards."
                )
            self.wait_for(lambda: False, LOOK_S)
        return wanted or n_workers

    def take(
        self, sources: Sequence[CodeSource], most_losses: int = MOST_LOSSES
    ) -> ShardGroup[WorkerLine]:
        """Return shards, each on a worker of its own; they read what they are named."""
        members = [(WorkerLine(self), source) for source in sources]
        self._lines += [line for line, _ in members]
        return ShardGroup(
            members, self.wait, silence_s=SILENCE_S, most_losses=most_losses
        )

    def find_workers(self) -> list[str]:
        """Return the addresses of the workers that there are now."""
        return sorted(self._ask("nthreads"))

    def find_spare(self, deadline: float, tried: Collection[str]) -> str:
        """Return a worker without a shard of ours; those tried come last.

        Else the one that has least to do. Raises `ClusterError` after the deadline.
        """
        while True:
            taken = {line.worker for line in self._lines} | self._avoided
            spare = [one for one in self.find_workers() if one not in taken]
            is_late = time.monotonic() > deadline
            if spare and not is_late:
                busy = self._ask("processing")
                return min(
                    spare, key=lambda one: (one in tried, len(busy.get(one, ())))
                )
            if is_late:
                raise ClusterError(
                    "The training was given up: no worker of the cluster was free to "
                    f"take a shard for {self.place.patience_s:g} s."
                )
            self.wait_for(lambda: False, LOOK_S)

    def submit(self, worker: str, token: str) -> Any:
        """Start the task of a shard on a worker."""
        return self._client.submit(
            serve_shard,
            self.here,
            token,
            core_version(),
            key=f"askless-shard-{token}",
            workers=[worker],
            allow_other_workers=False,
            pure=False,
        )

    def call(self, wanted: Coroutine[Any, Any, Any], timeout_s: float = 60) -> Any:
        """Run what waits for the network, on the client's own thread."""
        loop = self._client.loop.asyncio_loop
        return asyncio.run_coroutine_threadsafe(wanted, loop).result(timeout_s)

    def expect(self, token: str, line: WorkerLine) -> None:
        """Take the connection that brings a token for a shard's."""
        self._expected[token] = line

    def avoid(self, worker: str) -> None:
        """Let a worker have no shard any more."""
        self._avoided.add(worker)

    def drop(self, line: WorkerLine) -> None:
        """End the connection of a shard, if there is one, and expect none."""
        for token in [one for one, its in self._expected.items() if its is line]:
            del self._expected[token]
        if line.comm is not None:
            self._client.loop.add_callback(line.comm.abort)
            line.comm = None

    def wait(self, lines: Collection[WorkerLine], timeout_s: float) -> list[WorkerLine]:
        """Wait for messages and deaths; see `Wait`."""
        self.wait_for(lambda: any(line.inbox for line in lines), timeout_s)
        return [line for line in lines if line.inbox]

    def wait_for(self, is_so: Any, timeout_s: float) -> bool:
        """Wait until something is so, or time is over; whether it is so."""
        with self._news:
            return bool(self._news.wait_for(is_so, timeout_s))

    def _ask(self, name: str) -> Any:
        """Ask the scheduler something; `ClusterError` where it is gone."""
        try:
            if self._client.scheduler is None:
                raise ConnectionError("its scheduler is gone")
            return getattr(self._client, name)()
        except AWAY as error:
            raise ClusterError(f"The cluster is away: {say(error)}") from None

    async def _hear(self, comm: Any) -> None:
        """Take what a shard says, once it has said which it is."""
        line = None
        with suppress(CommClosedError):
            said = join_pieces(await comm.read())
            line = self._expected.pop(said.decode("ascii", "replace"), None)
        if line is None:
            comm.abort()
            return
        with self._news:
            line.comm = comm
            self._news.notify_all()
        while line.comm is comm:
            try:
                news: bytes | None = join_pieces(await comm.read())
            except CommClosedError:
                news = None
            with self._news:
                if line.comm is comm:
                    line.inbox.append(news)
                self._news.notify_all()
            if news is None:
                return


def cause_of(error: BaseException) -> str:
    """Return what an error came from in a line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return say(error) if isinstance(error, Exception) else type(error).__name__
