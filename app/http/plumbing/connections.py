"""Closes connections whose client is too slow to send its request."""

from asyncio import BaseTransport, TimerHandle
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class BoundedProtocol(H11Protocol):
    """Ends a connection whose caller takes too long to send a request.

    The head has one time and the body another. How long an answer takes is another
    matter, and so is the pause between two requests, which is uvicorn's.
    """

    head_within_s = 30.0
    #: what the caller is heard for, and what ends that
    heard: Any = None
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
        """Bound the time for the part of a request that the caller sends now."""
        found = self.conn.their_state
        if found is self.heard:
            return
        self.stop()
        self.heard = found
        app: Any = self.config.app
        within_s = {
            h11.IDLE: self.head_within_s,
            h11.SEND_BODY: app.state.settings.receive_timeout_s,
        }.get(found)
        if within_s is not None:
            self.timer = self.loop.call_later(within_s, self.transport.close)

    def stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
