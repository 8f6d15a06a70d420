"""Fetch JSON from foreign servers, with limits on size and time."""

import json
import ssl
from functools import cache
from typing import Any

import anyio
import httpx2
from anyio import to_thread

# The longest that one step may take, and a whole answer.
TIMEOUT_S = 10
WHOLE_S = 30
MOST_BYTES = 5_000_000


class FetchError(Exception):
    """A server was not reached, or did not give an object of JSON."""


class NoObjectError(FetchError):
    """A server gave what is no object of JSON, or is too large."""


@cache
def trust_store() -> ssl.SSLContext:
    """Return the TLS context, cached: reading the certificates takes 50 ms."""
    return httpx2.create_ssl_context()


async def fetch_json(
    client: httpx2.AsyncClient,
    url: str,
    most: int = MOST_BYTES,
    whole_s: float = WHOLE_S,
) -> dict[str, Any]:
    """Return an object of JSON of at most some bytes; raise FetchError.

    A redirect is no answer, whatever the client does else.
    """
    content = bytearray()
    try:
        with anyio.fail_after(whole_s):
            asking = client.stream(
                "GET", url, timeout=TIMEOUT_S, follow_redirects=False
            )
            async with asking as response:
                response.raise_for_status()
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if len(content) > most:
                        raise NoObjectError
    # ValueError: no text for a header.
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError):
        raise FetchError from None
    try:
        document = await to_thread.run_sync(json.loads, bytes(content))
    # RecursionError: it nests too deep.
    except (RecursionError, ValueError):
        raise NoObjectError from None
    if not isinstance(document, dict):
        raise NoObjectError
    return document
