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


@cache
def trust_store() -> ssl.SSLContext:
    """Return the TLS context, cached: reading the certificates takes 50 ms."""
    return httpx2.create_ssl_context()


async def fetch_json(
    client: httpx2.AsyncClient, url: str, most: int = MOST_BYTES
) -> dict[str, Any]:
    """Return an object of JSON of at most some bytes; raise FetchError."""
    content = bytearray()
    try:
        with anyio.fail_after(WHOLE_S):
            async with client.stream("GET", url, timeout=TIMEOUT_S) as response:
                response.raise_for_status()
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if len(content) > most:
                        raise FetchError
        document = await to_thread.run_sync(json.loads, bytes(content))
    # RecursionError: it nests too deep. ValueError: no JSON, or no text for a header.
    except (httpx2.HTTPError, httpx2.InvalidURL, RecursionError, ValueError):
        raise FetchError from None
    except TimeoutError:
        raise FetchError from None
    if not isinstance(document, dict):
        raise FetchError
    return document
