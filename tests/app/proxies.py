"""Reverse proxies in processes of their own, which serve a server below a path.

Ours passes on each byte as it comes. `taken_off`: it takes the path off, as nginx does
where `proxy_pass` has an address with a path; else the server sees it. nginx and Caddy
are told what the manual says.
"""

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from socket import create_connection, create_server

ROOT = Path(__file__).resolve().parents[2]
MANUAL = ROOT / "docs/operations.md"
# What stands around the manual's lines: temporary files, and a port of loopback.
AROUND = {
    "nginx": """pid {home}/pid;
error_log {home}/log;
daemon off;
master_process off;
events {{}}
http {{
    access_log off;
    client_body_temp_path {home}/body;
    proxy_temp_path {home}/proxy;
    fastcgi_temp_path {home}/fastcgi;
    uwsgi_temp_path {home}/uwsgi;
    scgi_temp_path {home}/scgi;
    server {{ listen 127.0.0.1:{port};
{lines} }}
}}
""",
    "caddyfile": "{{\n admin off\n}}\nhttp://127.0.0.1:{port} {{\n{lines}}}\n",
}
COMMANDS = {
    "nginx": ["nginx", "-c"],
    "caddyfile": ["caddy", "run", "--adapter", "caddyfile", "--config"],
}
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


@contextmanager
def told_by_the_manual(
    language: str, home: Path, port: int, server_port: int, path: str
) -> Iterator[None]:
    """Run nginx or Caddy with the lines of the manual, at this port and this path."""
    block = re.search(rf"```{language}\n(.*?)```", MANUAL.read_text(), re.DOTALL)
    assert block, language
    lines = block[1].replace("127.0.0.1:8000", f"127.0.0.1:{server_port}")
    lines = lines.replace("/askless", path)
    file = home / "proxy.conf"
    file.write_text(AROUND[language].format(home=home, port=port, lines=lines))
    process = subprocess.Popen(
        [*COMMANDS[language], str(file)], cwd=home, stderr=subprocess.DEVNULL
    )
    try:
        until_open(port)
        yield
    finally:
        process.terminate()
        process.wait(10)


def until_open(port: int) -> None:
    for _ in range(200):
        with suppress(OSError), create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise AssertionError(port)


if __name__ == "__main__":
    _, own, behind, below, is_taken_off = sys.argv
    asyncio.run(serve(int(own), int(behind), below, is_taken_off))
