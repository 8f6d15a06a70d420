"""The task that runs on a worker of a cluster: one shard, during one training."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from distributed import get_worker
from distributed.comm import CommClosedError, connect

from askless.app.cluster.desk import ShardDesk
from askless.app.cluster.versions import core_version

CONNECT_S = 5
# Bytes of a piece of a message; the format of the connection knows no larger ones.
PIECE = 1 << 28


class OtherVersionError(Exception):
    """The worker has another version of core than the coordinator."""


def serve_shard(address: str, token: str, version: str) -> None:
    """Serve a shard to the coordinator at `address`, until that is gone.

    The connection is one of the cluster's own, encrypted if those are. Raises
    `OtherVersionError` if this worker has another `version` of core.
    """
    if version != core_version():
        raise OtherVersionError(f"it has core {core_version()}, and needs {version}")
    worker = get_worker()
    loop = worker.loop.asyncio_loop

    def call(operation: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(operation, loop).result()

    kind = worker.security.get_connection_args("worker")
    opened = connect(address, timeout=CONNECT_S, deserialize=False, **kind)
    comm = call(opened)
    try:
        call(comm.write((token.encode(),)))
        desk = ShardDesk(lambda packed: call(comm.write(cut_pieces(packed))))
        with suppress(CommClosedError):
            desk.handle_orders(lambda: join_pieces(call(comm.read())))
    finally:
        worker.loop.add_callback(comm.abort)


def cut_pieces(packed: bytes) -> tuple[bytes, ...]:
    return tuple(
        packed[start : start + PIECE] for start in range(0, len(packed), PIECE)
    )


def join_pieces(pieces: Any) -> bytes:
    """Return the message that was cut into pieces."""
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
