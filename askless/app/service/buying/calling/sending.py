"""Send a request to a provider or webhook: only where it may go, and bounded.

A name is resolved once; its address is checked and is the one that is connected to.
No redirect is followed, no proxy asked, no answer read beyond its bound.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from socket import IPPROTO_TCP, SOCK_STREAM
from ssl import SSLContext
from time import monotonic
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit, urlunsplit

import httpx

from askless.app.documents.buying.providers import host_and_port
from askless.app.settings.hosts import is_listed

MOST_BYTES = 1_000_000
# The share of its time in which a connection must be made.
CONNECTING = 0.9
CHUNK = 65_536
# Where IPv4 addresses stand inside IPv6 ones.
NAT64 = ip_network("64:ff9b::/96")
# All that is routed to anybody; sites, local NAT64 and old IPv4 forms are outside.
GLOBAL_UNICAST = ip_network("2000::/3")
# Reserved for documentation and protocols, and former 6to4 relays.
NOBODYS = tuple(map(ip_network, ("3fff::/20", "192.0.0.0/24", "192.88.99.0/24")))
HEAD_SENT = "send_request_headers.started"
DECODED = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": 0}
# How a request has failed.
Failure = Literal["refused_address", "not_connected", "no_answer", "unreadable"]


@dataclass(frozen=True, slots=True)
class Message:
    """A request that is ready to be sent."""

    method: str
    url: str
    headers: dict[str, str]
    query: dict[str, str]
    body: bytes | None

    def with_header(self, name: str | None, value: str) -> "Message":
        """Return the message with a header more; None: as it is."""
        if name is None:
            return self
        return replace(self, headers={**self.headers, name: value})


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of one attempt."""

    #: None: no status came
    status: int | None
    body: bytes = b""
    #: None: an answer that could be read as a whole came
    failure: Failure | None = None
    #: seconds that the other side asks to wait
    retry_after_s: float | None = None
    latency_ms: int = 0

    @property
    def was_sent(self) -> bool:
        """Whether the other side may have seen the request."""
        return self.failure not in ("refused_address", "not_connected")


class RefusedAddressError(Exception):
    """A host is not on the list, or its address is private."""


async def look_up(host: str, port: int) -> list[str]:
    """Return the addresses of a host; raise OSError for an unknown one."""
    loop = asyncio.get_running_loop()
    entries = await loop.getaddrinfo(host, port, type=SOCK_STREAM, proto=IPPROTO_TCP)
    return [str(entry[4][0]).partition("%")[0] for entry in entries]


@dataclass
class Sender:
    """Sends messages to the hosts of a list."""

    hosts: Sequence[str]
    look_up: Callable[[str, int], Awaitable[list[str]]] = look_up

    async def send(self, message: Message, timeout_s: float) -> Reply:
        """Send a message once, and read its answer, within `timeout_s`.

        Each goes over a connection of its own. On one that was kept, the other side may
        have left a second answer, which would be read as that of the next call; or it
        may just have closed it, and nobody would know what it has seen.
        """
        began, sent = monotonic(), False

        async def trace(event: str, _: Any) -> None:
            nonlocal sent
            sent = sent or event.endswith(HEAD_SENT)

        # A handshake that is cancelled from outside leaves its socket open.
        timeout = {"connect": CONNECTING * timeout_s}
        extensions = {"trace": trace, "timeout": timeout}
        reply: Reply
        try:
            async with asyncio.timeout(timeout_s):
                reply = await self.exchange(message, extensions)
        except (RefusedAddressError, httpx.InvalidURL, UnicodeError):
            reply = Reply(None, failure="refused_address")
        except (httpx.HTTPError, TimeoutError, OSError):
            reply = Reply(None, failure="no_answer" if sent else "not_connected")
        latency_ms = round(1000 * (monotonic() - began))
        return replace(reply, latency_ms=latency_ms)

    async def exchange(self, message: Message, extensions: dict[str, Any]) -> Reply:
        parts = urlsplit(message.url)
        host, port = parts.hostname or "", parts.port
        usual = 443 if parts.scheme == "https" else 80
        listed = host_and_port(message.url)
        if not is_listed(listed, self.hosts):
            raise RefusedAddressError(listed)
        address = await self.resolve(host, port or usual)
        shown = f"[{address}]" if ":" in address else address
        place = f"{shown}:{port or usual}"
        query = "&".join(filter(None, (parts.query, urlencode(message.query))))
        request = httpx.Request(
            message.method,
            urlunsplit((parts.scheme, place, parts.path or "/", query, "")),
            content=message.body,
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "gzip",
                "User-Agent": "askless",
                **message.headers,
                "Host": listed,
                "Connection": "close",
            },
            extensions={"sni_hostname": host, **extensions},
        )
        # httpx's client, above the transport, would keep cookies and follow redirects.
        async with httpx.AsyncHTTPTransport(
            trust_store(), trust_env=False
        ) as transport:
            response = await transport.handle_async_request(request)
            try:
                return await read_reply(response)
            finally:
                with suppress(httpx.HTTPError, OSError):
                    await response.aclose()

    async def resolve(self, host: str, port: int) -> str:
        """Return the address of a host; refuse a private one that is not on the list.

        Where a name has several, all must be allowed: whoever answers for it would
        choose otherwise.
        """
        try:
            addresses = await self.look_up(host, port)
        except OSError as error:
            raise httpx.ConnectError(str(error)) from None
        for address in addresses:
            if not is_public(address) and not is_named(address, port, self.hosts):
                raise RefusedAddressError(address)
        return addresses[0]


@cache
def trust_store() -> SSLContext:
    """Return the TLS context, cached: reading the certificates takes 50 ms."""
    return httpx.create_ssl_context()


async def read_reply(response: httpx.Response) -> Reply:
    """Read an answer of at most `MOST_BYTES`, unpacked no further than that."""
    status, retry_after_s = response.status_code, read_retry_after(response)
    unreadable = Reply(status, b"", "unreadable", retry_after_s)
    if not 200 <= status < 300:
        return Reply(status, b"", None, retry_after_s)
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in DECODED and encoding != "identity":
        return unreadable
    decoder = None if encoding == "identity" else zlib.decompressobj(DECODED[encoding])
    content, n_raw = bytearray(), 0
    async for chunk in response.aiter_raw(CHUNK):
        n_raw += len(chunk)
        try:
            content += decode(decoder, chunk, MOST_BYTES + 1 - len(content))
        except zlib.error:
            return unreadable
        if max(n_raw, len(content)) > MOST_BYTES:
            return unreadable
    return Reply(status, bytes(content), None, retry_after_s)


def decode(decoder: Any, chunk: bytes, most: int) -> bytes:
    """Return a chunk, unpacked to at most so many bytes."""
    if decoder is None:
        return chunk
    return bytes(decoder.decompress(decoder.unconsumed_tail + chunk, most))


def read_retry_after(response: httpx.Response) -> float | None:
    """Return the seconds of a `Retry-After`, which may be a date."""
    text = response.headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


def is_public(text: str) -> bool:
    """Return whether an address is anybody's: not private, loopback, link-local."""
    address: IPv4Address | IPv6Address = ip_address(text)
    if isinstance(address, IPv6Address):
        if address in NAT64:
            return is_public(str(IPv4Address(int(address) & 0xFFFFFFFF)))
        if address.ipv4_mapped is not None:
            return is_public(str(address.ipv4_mapped))
        if address.sixtofour is not None or address.teredo is not None:
            return False
        if address not in GLOBAL_UNICAST:
            return False
    if any(address in network for network in NOBODYS):
        return False
    return address.is_global and not address.is_multicast


def is_named(text: str, port: int, hosts: Sequence[str]) -> bool:
    """Return whether a list names an address itself, by port or as a network."""
    address = ip_address(text)
    shown = f"[{text}]" if address.version == 6 else text
    for entry in hosts:
        if entry in (shown, f"{shown}:{port}"):
            return True
        with suppress(ValueError):
            if "/" in entry and address in ip_network(entry):
                return True
    return False
