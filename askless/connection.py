"""Requests to one service, its lists and its event streams.

What broke on the way is sent again where that can't be done twice: everything but
uploads, imports and the like, which are repeated only if they never arrived.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import httpx

from askless.problems import ProblemError

Json = dict[str, Any]

RETRIED_STATUSES = (502, 503, 504)
NEVER_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
LONGEST_WAIT_S = 5.0
# Open streams say something every 15 s: after this silence the connection is dead.
STREAM_SILENCE_S = 45.0
# The answer to an upload comes when the whole table is read and checked.
UPLOAD_TIMEOUT_S = 600.0
FINAL_STATES = ("succeeded", "failed", "cancelled")
PAGE = 200


@dataclass(frozen=True)
class Connection:
    """The address of a service, and how patiently it is asked."""

    http: httpx.Client
    timeout: float
    retries: int
    first_wait_s: float

    def ask(self, method: str, path: str, **more: Any) -> Json:
        """Send a request as `call` does; return the document it is answered with."""
        answer: Json = self.call(method, path, **more).json()
        return answer

    def call(
        self,
        method: str,
        path: str,
        *,
        is_repeatable: bool = True,
        files: Callable[[], Any] | None = None,
        **more: Any,
    ) -> httpx.Response:
        """Send a request, again if that is safe and the connection or service failed.

        Raises ProblemError, or httpx.TransportError once all tries are used up.
        """
        if files is not None:
            more["timeout"] = httpx.Timeout(self.timeout, read=UPLOAD_TIMEOUT_S)
        tries = 0
        while True:
            tries += 1
            is_last = tries > self.retries
            sent = more if files is None else more | {"files": files()}
            try:
                response = self.http.request(method, path, **sent)
            except httpx.TransportError as error:
                if is_last or not (is_repeatable or isinstance(error, NEVER_ARRIVED)):
                    raise
            else:
                if response.is_success:
                    return response
                is_passing = response.status_code in RETRIED_STATUSES
                if is_last or not (is_repeatable and is_passing):
                    raise problem_of(response)
            self.wait(tries)

    def pages(self, path: str) -> Iterator[Json]:
        """Yield the items of a list, page by page."""
        after: str | None = None
        while True:
            params = {"limit": PAGE} | ({} if after is None else {"after": after})
            page = self.ask("GET", path, params=params)
            yield from page["items"]
            after = page["next"]
            if after is None:
                return

    def events(self, training_id: str) -> Iterator[Json]:
        """Yield what happens to a training, each event once, to its end."""
        last_id, state, tries = "", "", 0
        while True:
            failure: Exception = httpx.RemoteProtocolError("the stream ends early")
            try:
                for event_id, data in self.stream(training_id, last_id):
                    last_id, state, tries = event_id, data["state"], 0
                    yield data
            except httpx.TransportError as error:
                failure = error
            except ProblemError as error:
                if error.status not in RETRIED_STATUSES:
                    raise
                failure = error
            if state in FINAL_STATES:
                return
            tries += 1
            if tries > self.retries:
                raise failure
            self.wait(tries)

    def stream(self, training_id: str, last_id: str) -> Iterator[tuple[str, Json]]:
        """Yield ids and data of the events after one, over one connection."""
        headers = {"Last-Event-ID": last_id} if last_id else {}
        timeout = httpx.Timeout(self.timeout, read=STREAM_SILENCE_S)
        path = f"/train/{training_id}/events"
        with self.http.stream("GET", path, headers=headers, timeout=timeout) as got:
            if not got.is_success:
                got.read()
                raise problem_of(got)
            for event_id, data in parse_events(got.iter_lines()):
                yield event_id, data
                if data["state"] in FINAL_STATES:
                    return

    def wait(self, tries: int) -> None:
        """Sleep before the next try, longer each time."""
        time.sleep(min(self.first_wait_s * 2 ** (tries - 1), LONGEST_WAIT_S))


def parse_events(lines: Iterator[str]) -> Iterator[tuple[str, Json]]:
    """Yield id and data of each event of a stream that is whole."""
    event_id, data = "", ""
    for line in lines:
        name, _, text = line.partition(":")
        text = text.removeprefix(" ")
        if name == "id":
            event_id = text
        elif name == "data":
            data += text
        elif not line and data:
            yield event_id, json.loads(data)
            data = ""


def problem_of(response: httpx.Response) -> ProblemError:
    """Read a problem document; whatever else answered has at least a status."""
    try:
        raw = response.json()
    except ValueError:
        raw = None
    if not isinstance(raw, dict):
        raw = {"title": response.reason_phrase or "The request failed"}
    return ProblemError(raw, response.status_code)


def known_fields(kind: Any, raw: Json) -> Json:
    """Return what a value has fields for: the service may have come to say more."""
    return {one.name: raw[one.name] for one in fields(kind) if one.name in raw}


def plain(value: Any) -> Any:
    """Return numpy's numbers as Python's."""
    return value.item() if hasattr(value, "item") else value
