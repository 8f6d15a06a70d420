"""Fetches JSON from servers of others, which may say anything, slowly and at length."""

import json
from typing import Any

import httpx2

TIMEOUT_S = 10
MOST_BYTES = 20_000_000


class FetchError(Exception):
    """A server was not reached, or did not give an object of JSON."""


async def fetch_json(
    client: httpx2.AsyncClient, url: str, most: int = MOST_BYTES
) -> dict[str, Any]:
    """Return an object of JSON of at most some bytes; raise FetchError."""
    content = bytearray()
    try:
        async with client.stream("GET", url, timeout=TIMEOUT_S) as response:
            response.raise_for_status()
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > most:
                    raise FetchError
        found = json.loads(bytes(content))
    # RecursionError: it nests too deep. ValueError: no JSON, or no text for a header.
    except (httpx2.HTTPError, httpx2.InvalidURL, RecursionError, ValueError):
        raise FetchError from None
    if not isinstance(found, dict):
        raise FetchError
    return found
