"""Requests to one service, its lists and its event streams.

What broke on the way is sent again: the service knows a repeated POST by its
`Idempotency-Key`, and everything else can be done twice.
"""

import json
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx

from askless.client.links import Link
from askless.client.problems import ProblemError, ServiceUnreachable

Json = dict[str, Any]

RETRIED_STATUSES = (502, 503, 504)
# The same request is still being answered.
RETRIED_TYPE = "/problems/idempotency-in-progress"
# Wrong calls: sending them again does not help.
HOPELESS = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)
LONGEST_WAIT_S = 5.0
# The client does not wait longer than this, whatever the service says.
LONGEST_RETRY_AFTER_S = 120.0
# Open streams send something every 15 s; after this silence the connection is dead.
STREAM_SILENCE_S = 45.0
# The answer to an upload comes when the whole table is read and checked.
UPLOAD_TIMEOUT_S = 600.0
FINAL_STATES = ("succeeded", "failed", "cancelled")
PAGE = 200


@dataclass(frozen=True)
class Connection:
    """A link to a service, with its time limit and its number of retries."""

    link: Link
    #: of the service, without user name and password
    address: str
    timeout: float
    retries: int
    first_wait_s: float

    async def request_json(self, method: str, path: str, **more: Any) -> Json:
        """Send a request as `request` does; return the JSON of its response."""
        document: Json = (await self.request(method, path, **more)).json()
        return document

    async def request(
        self,
        method: str,
        path: str,
        *,
        files: Callable[[], Any] | None = None,
        **more: Any,
    ) -> httpx.Response:
        """Send a request, again if the connection fails; raise ProblemError."""
        if method == "POST":
            key = {"Idempotency-Key": uuid4().hex}
            more["headers"] = more.get("headers", {}) | key
        if files is not None:
            more["timeout"] = httpx.Timeout(self.timeout, read=UPLOAD_TIMEOUT_S)
        tries = 0
        while True:
            tries += 1
            sent = more if files is None else more | {"files": files()}
            try:
                response = await self.link.send(method, path, **sent)
            except httpx.TransportError as error:
                if isinstance(error, HOPELESS):
                    raise
                if tries > self.retries:
                    raise self.unreachable(error) from error
                await self.wait(tries)
                continue
            # An earlier try has deleted it, and its answer was lost.
            is_gone = method == "DELETE" and response.status_code == 404 and tries > 1
            if response.is_success or is_gone:
                return response
            await self.wait_or_raise(response, tries)

    def unreachable(self, error: Exception) -> ServiceUnreachable:
        """Return the exception for a failure of the connection."""
        reason = str(error) or type(error).__name__
        raised = ServiceUnreachable(self.address, reason)
        raised.__cause__ = error
        return raised

    async def wait_or_raise(self, response: httpx.Response, tries: int) -> None:
        """Sleep before the next try; raise ProblemError where none can help."""
        problem = read_problem(response)
        asked_s = parse_retry_after(response)
        is_temporary = (
            response.status_code in RETRIED_STATUSES
            or (response.status_code == 429 and asked_s is not None)
            or problem.type == RETRIED_TYPE
        )
        is_too_long = asked_s is not None and asked_s > LONGEST_RETRY_AFTER_S
        if tries > self.retries or not is_temporary or is_too_long:
            raise problem
        await self.wait(tries, asked_s or 0.0)

    async def wait(self, tries: int, least_s: float = 0.0) -> None:
        """Sleep before the next try, longer each time and with a random factor."""
        longest_s = min(self.first_wait_s * 2 ** (tries - 1), LONGEST_WAIT_S)
        await self.link.sleep(max(least_s, longest_s * random.uniform(0.5, 1.0)))

    async def list_items(self, path: str, **filters: Any) -> list[Json]:
        """Return all items of a list, page by page; filters of None are left out."""
        params = {name: value for name, value in filters.items() if value is not None}
        items: list[Json] = []
        after: str | None = None
        while True:
            place = {"limit": PAGE} | ({} if after is None else {"after": after})
            page = await self.request_json("GET", path, params=params | place)
            items += page["items"]
            after = page["next"]
            if after is None:
                return items

    async def follow_events(self, path: str) -> AsyncGenerator[Json]:
        """Yield each event of a training or job once, until it ends.

        After `retries` failures without an event between them it raises the last one.
        """
        last_id, state, tries = "", "", 0
        while True:
            failure: Exception = self.unreachable(EOFError("the stream ends early"))
            try:
                async with aclosing(self.stream_events(path, last_id)) as stream:
                    async for event_id, data in stream:
                        last_id, state, tries = event_id, data["state"], 0
                        yield data
            except httpx.TransportError as error:
                failure = self.unreachable(error)
            except ProblemError as error:
                if error.status not in RETRIED_STATUSES:
                    raise
                failure = error
            if state in FINAL_STATES:
                return
            tries += 1
            if tries > self.retries:
                raise failure
            await self.wait(tries)

    async def stream_events(
        self, path: str, last_id: str
    ) -> AsyncGenerator[tuple[str, Json]]:
        """Yield ids and data of the events after `last_id`, over one connection."""
        headers = {"Last-Event-ID": last_id} if last_id else {}
        timeout = httpx.Timeout(self.timeout, read=STREAM_SILENCE_S)
        opened = self.link.stream(f"{path}/events", headers=headers, timeout=timeout)
        async with opened as (response, lines):
            if not response.is_success:
                raise read_problem(response)
            # 204: no event is left. The final one may be lost, so read the state.
            if response.status_code == 204:
                yield last_id, await self.request_json("GET", path)
                return
            async for event_id, data in parse_events(lines):
                yield event_id, data
                if data["state"] in FINAL_STATES:
                    return


async def parse_events(lines: AsyncIterator[str]) -> AsyncIterator[tuple[str, Json]]:
    """Yield id and data of each complete server-sent event."""
    event_id, data = "", ""
    async for line in lines:
        name, _, text = line.partition(":")
        text = text.removeprefix(" ")
        if name == "id":
            event_id = text
        elif name == "data":
            data += text
        elif not line and data:
            yield event_id, json.loads(data)
            data = ""


def parse_retry_after(response: httpx.Response) -> float | None:
    """Return the seconds to wait from the header Retry-After; None without it."""
    text = response.headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def read_problem(response: httpx.Response) -> ProblemError:
    """Read a problem document; any other response becomes one with its status."""
    try:
        raw = response.json()
    except ValueError:
        raw = None
    if not isinstance(raw, dict):
        raw = {"title": response.reason_phrase or "The request failed"}
    return ProblemError(raw, response.status_code)


def join_path(*parts: object) -> str:
    """Return a path of quoted parts, so that a wrong id can't lead elsewhere."""
    return "".join(f"/{quote(str(part), safe='@')}" for part in parts)


def select_known(dataclass_type: Any, raw: Json) -> Json:
    """Return the entries that a dataclass has fields for; newer services send more."""
    return {
        field.name: raw[field.name]
        for field in fields(dataclass_type)
        if field.name in raw
    }


def to_python(value: Any) -> Any:
    """Convert a numpy scalar to Python's type; return other values unchanged."""
    return value.item() if hasattr(value, "item") else value
