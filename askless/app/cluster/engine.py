"""A Dask cluster whose workers take shards, one each.

It finds a worker for a shard and starts a long task there. The task answers with
numbers and JSON, over the kind of encrypted connection that the cluster itself uses.
"""

import asyncio
import time
from collections import deque
from collections.abc import Collection, Coroutine
from concurrent.futures import CancelledError as GivenUpError
from concurrent.futures import TimeoutError as LateError
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from threading import Condition
from typing import Any, TypeVar

from distributed import Client, Security
from distributed.client import ClosedClientError
from distributed.comm import CommClosedError, listen
from distributed.utils import get_ip

from askless.app.cluster.tasks import join_pieces, serve_shard
from askless.app.cluster.versions import core_version
from askless.app.settings.places import ADDRESS, ClusterError, ClusterPlace, to_line
from askless.core.errors import Refusal, RefusedError

CONNECT_S = 20
END_S = 5
LOOK_S = 0.5
#: Errors that mean that the cluster, or a worker, is gone.
AWAY = (OSError, LateError, GivenUpError, ClosedClientError)


@dataclass(eq=False)
class Seat:
    """The place of a shard: its worker, the connection, and the messages received."""

    #: the worker's address; "": it has none
    worker: str = ""
    comm: Any = None
    inbox: deque[bytes | None] = field(default_factory=deque)


S = TypeVar("S", bound=Seat)


class Cluster(AbstractContextManager["Cluster"]):
    """A connection to a cluster, and a listener for its workers; a context.

    Raises RefusedError if nobody answers there, or lets us in.
    """

    def __init__(self, place: ClusterPlace) -> None:
        self.place = place
        self._news = Condition()
        self._expected: dict[str, Seat] = {}
        self._seats: list[Seat] = []
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
            raise RefusedError(
                [Refusal(ADDRESS, rule, first_cause_of(error))]
            ) from None
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
        """Release the workers and disconnect."""
        for seat in self._seats:
            self.drop(seat)
        self._client.loop.add_callback(self._listener.stop)
        with suppress(*AWAY):
            self._client.close(timeout=END_S)

    def count_shards(self, n_shards: int | None) -> int:
        """Wait for workers; return the number of shards, or raise ClusterError."""
        least = n_shards or 1
        deadline = time.monotonic() + self.place.patience_s
        while (n_workers := len(self.list_workers())) < least:
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"The cluster has too few workers: {n_workers} for {least} shards."
                )
            self.wait_for(lambda: False, LOOK_S)
        return n_shards or n_workers

    def add(self, seat: Seat) -> None:
        """Add the seat of a shard: no other shard gets its worker."""
        self._seats.append(seat)

    def list_workers(self) -> list[str]:
        """Return the addresses of the present workers."""
        return sorted(self._ask("nthreads"))

    def choose_spare(self, deadline: float, tried: Collection[str]) -> str:
        """Return the least busy spare worker; raise ClusterError after `deadline`."""
        while True:
            used_workers = {seat.worker for seat in self._seats} | self._avoided
            spare = [
                worker for worker in self.list_workers() if worker not in used_workers
            ]
            is_late = time.monotonic() > deadline
            if spare and not is_late:
                busy = self._ask("processing")
                return min(
                    spare,
                    key=lambda address: (address in tried, len(busy.get(address, ()))),
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

    def call(self, operation: Coroutine[Any, Any, Any], timeout_s: float = 60) -> Any:
        """Run a network operation on the client's own thread; return its result."""
        loop = self._client.loop.asyncio_loop
        return asyncio.run_coroutine_threadsafe(operation, loop).result(timeout_s)

    def expect(self, token: str, seat: Seat) -> None:
        """Assign to a shard the connection that will bring this token."""
        self._expected[token] = seat

    def avoid(self, worker: str) -> None:
        """Assign no other shard to a worker."""
        self._avoided.add(worker)

    def drop(self, seat: Seat) -> None:
        """Close the connection of a shard, if it has one, and expect none for it."""
        for token in [
            future for future, owner in self._expected.items() if owner is seat
        ]:
            del self._expected[token]
        if seat.comm is not None:
            self._client.loop.add_callback(seat.comm.abort)
            seat.comm = None

    def wait(self, seats: Collection[S], timeout_s: float) -> list[S]:
        """Wait for messages and deaths; see `Wait`."""
        self.wait_for(lambda: any(seat.inbox for seat in seats), timeout_s)
        return [seat for seat in seats if seat.inbox]

    def wait_for(self, is_so: Any, timeout_s: float) -> bool:
        """Wait until a condition holds or time is over; return whether it holds."""
        with self._news:
            return bool(self._news.wait_for(is_so, timeout_s))

    def _ask(self, name: str) -> Any:
        """Call a method of the client; raises `ClusterError` if the cluster is gone."""
        try:
            if self._client.scheduler is None:
                raise ConnectionError("its scheduler is gone")
            return getattr(self._client, name)()
        except AWAY as error:
            raise ClusterError(f"The cluster is away: {to_line(error)}") from None

    async def _hear(self, comm: Any) -> None:
        """Receive the messages of a shard, of which the first says which one it is."""
        seat = None
        with suppress(CommClosedError):
            token = join_pieces(await comm.read())
            seat = self._expected.pop(token.decode("ascii", "replace"), None)
        if seat is None:
            comm.abort()
            return
        with self._news:
            seat.comm = comm
            self._news.notify_all()
        # `drop` and a successor change `seat.comm`: then this connection is no longer
        # heard.
        while seat.comm is comm:
            try:
                news: bytes | None = join_pieces(await comm.read())
            except CommClosedError:
                news = None
            with self._news:
                if seat.comm is comm:
                    seat.inbox.append(news)
                self._news.notify_all()
            if news is None:
                return


def first_cause_of(error: BaseException) -> str:
    """Return the first cause of an error in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return to_line(error) if isinstance(error, Exception) else type(error).__name__
