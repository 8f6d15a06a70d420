"""Close connections whose client is too slow to send its request."""

from asyncio import BaseTransport, TimerHandle
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class BoundedProtocol(H11Protocol):
    """Closes a connection whose client takes too long to send a request.

    Head and body have a limit each. Answers have none here, and uvicorn limits the
    pause between two requests.
    """

    head_within_s = 30.0
    # The largest upload, 200 MB, at 110 kB a second.
    body_within_s = 1_800.0
    #: the part of the request that is awaited, and the timer that limits it
    awaited_part: Any = None
    timer: TimerHandle | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]  # as in uvicorn
        self.watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.stop()

    def watch(self) -> None:
        """Limit the time for the part of a request that the client sends now."""
        part = self.conn.their_state
        if part is self.awaited_part:
            return
        self.stop()
        self.awaited_part = part
        within_s = {
            h11.IDLE: self.head_within_s,
            h11.SEND_BODY: self.body_within_s,
        }.get(part)
        if within_s is not None:
            self.timer = self.loop.call_later(within_s, self.transport.close)

    def stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
