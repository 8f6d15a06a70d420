"""Callers who take their time: ended where a request does not come, else answered."""

import asyncio
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from askless.app.http.plumbing.layers.connections import BoundedProtocol

HEAD = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n"
WITHIN_S = 20.0


class Hasty(BoundedProtocol):
    head_within_s = body_within_s = 0.1


class Echo:
    """Answers with the body, later than a caller may take to send one."""

    def __init__(self) -> None:
        self.n_gone = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        del scope
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.n_gone += 1
                return
            body += message["body"]
            if not message["more_body"]:
                break
        await asyncio.sleep(0.15)
        headers = [(b"content-length", str(len(body)).encode())]
        start = {"type": "http.response.start", "status": 200, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": body})


async def talk(app: Echo, kind: type[BoundedProtocol], *parts: bytes) -> bytes:
    """Send parts one after another; return all that comes until the end."""
    config = Config(app, log_config=None, timeout_keep_alive=0.1)  # type: ignore[arg-type]  # as much of one as is called
    config.load()
    loop, state = asyncio.get_running_loop(), ServerState()
    made = await loop.create_server(lambda: kind(config, state, {}), "127.0.0.1", 0)
    async with made:
        address = made.sockets[0].getsockname()
        reader, writer = await asyncio.open_connection(*address)
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.01)
        try:
            return await asyncio.wait_for(reader.read(), WITHIN_S)
        finally:
            writer.close()


@pytest.mark.parametrize(
    "parts", [[], [HEAD], [HEAD + b"\r\n12"], [HEAD + b"\r\n1234", HEAD + b"\r\n"]]
)
def test_request_that_never_ends_is_ended(parts: list[bytes]) -> None:
    app = Echo()

    said = asyncio.run(talk(app, Hasty, *parts))

    assert said.count(b"200 OK") == sum(part.endswith(b"1234") for part in parts)


def test_request_in_parts_is_answered_however_long_that_takes() -> None:
    app = Echo()
    parts = (HEAD[:9], HEAD[9:], b"\r\n1", b"234", HEAD + b"\r\nabcd")

    said = asyncio.run(talk(app, BoundedProtocol, *parts))

    assert said.count(b"200 OK") == 2
    assert said.endswith(b"abcd")
    assert app.n_gone == 0
