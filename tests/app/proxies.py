"""A reverse proxy in a process of its own, which serves a server below a path.

It passes on each byte as it comes. `taken_off`: it takes the path off, as nginx does
where `proxy_pass` has an address with a path; else the server sees it.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from socket import create_server

ROOT = Path(__file__).resolve().parents[2]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while part := await reader.read(65536):
            writer.write(part)
            await writer.drain()
    writer.close()


async def pass_on(client: Streams, port: int, path: str, taken_off: str) -> None:
    """Pass on one request; each has a connection of its own."""
    reader, writer = client
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, _, fields = head.partition("\r\n")
    method, target, version = first.split(" ")
    if target != path and not target.startswith(path + "/"):
        writer.write(b"HTTP/1.1 404 Not Ours\r\nContent-Length: 0\r\n\r\n")
        writer.close()
        return
    if taken_off:
        target = target.removeprefix(path) or "/"
    kept = [line for line in fields.split("\r\n") if line[:11].lower() != "connection:"]
    lines = [f"{method} {target} {version}", "Connection: close", *kept]
    behind = await asyncio.open_connection("127.0.0.1", port)
    behind[1].write("\r\n".join(lines).encode())
    await asyncio.gather(copy(reader, behind[1]), copy(behind[0], writer))


async def serve(port: int, server_port: int, path: str, taken_off: str) -> None:
    async def accept(*client: asyncio.StreamReader | asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await pass_on(client, server_port, path, taken_off)  # type: ignore[arg-type]  # a reader and a writer

    server = await asyncio.start_server(accept, "127.0.0.1", port)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await server.serve_forever()


def free_port() -> int:
    with closing(create_server(("127.0.0.1", 0))) as taken:
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def proxy(port: int, server_port: int, path: str, *, taken_off: bool) -> Iterator[None]:
    words = [port, server_port, path, "taken off" if taken_off else ""]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.app.proxies", *map(str, words)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


if __name__ == "__main__":
    _, own, behind, below, is_taken_off = sys.argv
    asyncio.run(serve(int(own), int(behind), below, is_taken_off))
