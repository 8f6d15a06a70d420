"""Answer a POST repeated with the same `Idempotency-Key` as it was answered first.

The key is claimed when the request's transaction begins, and the answer is stored just
before it is committed (`deps.get_db`). Requests without a key pass by.
"""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from anyio import to_thread
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import FormData

from askless.app.http.plumbing.forms import FORM, media_type, parse_form
from askless.app.records import StoredAnswer
from askless.app.service import retries as service
from askless.app.store.database.transactions import Transaction
from askless.core.errors import Refusal, RefusedError

HEADER = "Idempotency-Key"
MAX_LENGTH = 255
RULE = f"must have 1 to {MAX_LENGTH} printable characters of ASCII"
# A key may be a String of structured fields (RFC 9651), as the header's draft has it.
QUOTED = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
KEPT_HEADERS = ("content-type", "location", "etag", "cache-control")
# Fields that a response shows once, and that are never stored.
SECRETS = ("token",)
# Their names in a request's scope.
RETRY, RESPONSE = "askless.retry", "askless.response"
CHUNK = 1 << 20


@dataclass(frozen=True)
class Retry:
    """A request with an idempotency key, and the digest of its content."""

    request: Request
    key: str
    digest: str

    def claim(self, db: Transaction) -> None:
        """Claim the key; raise if the request was answered or is being answered."""
        service.claim_request(db, self.key, self.digest)

    def look(self, db: Transaction) -> None:
        """Raise as `claim` does if the request was answered; claim nothing."""
        service.raise_if_answered(db, self.key, self.digest)

    def answer(self, db: Transaction, act: Callable[[], Response]) -> Response:
        """Claim the key, act, and store the response."""
        self.claim(db)
        response = act()
        self.keep(db, response)
        return response

    def keep(self, db: Transaction, response: Response) -> None:
        """Store the response in the transaction of its change."""
        headers = response.headers
        answer = StoredAnswer(
            key=self.key,
            digest=self.digest,
            status=response.status_code,
            headers={name: headers[name] for name in KEPT_HEADERS if name in headers},
            body=remove_secrets(response),
            created_at=datetime.now(UTC),
            session_id=self.request.scope["log_fields"].get("session"),
        )
        service.store_answer(db, answer)


class RetriedRoute(APIRoute):
    """A route that keeps its response for the dependency that stores it."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]  # awaited, no more
        handle = super().get_route_handler()

        async def handle_and_keep(request: Request) -> Response:
            response = await handle(request)
            request.scope[RESPONSE] = response
            return response

        return handle_and_keep


async def find_retry(request: Request) -> Retry | None:
    """Return the retry of a POST with a key; None for all other requests.

    Raises RefusedError if the key is too long or not printable.
    """
    key = request.headers.get(HEADER)
    if key is None or request.method != "POST":
        return None
    quoted = QUOTED.fullmatch(key)
    if quoted is not None:
        key = re.sub(r"\\(.)", r"\1", quoted[1])
    if RETRY not in request.scope:
        if not (0 < len(key) <= MAX_LENGTH and key.isascii() and key.isprintable()):
            raise RefusedError([Refusal(HEADER, RULE)])
        is_form = media_type(request.headers) == FORM
        body = await (parse_form(request) if is_form else request.body())
        digest = await to_thread.run_sync(digest_request, request, body)
        request.scope[RETRY] = Retry(request, key, digest)
    retry: Retry = request.scope[RETRY]
    return retry


def digest_request(request: Request, body: bytes | FormData) -> str:
    """Return the SHA-256 of method, address and body of a request.

    A form is digested by its parts: its boundary changes each time it is sent.
    """
    digest = sha256()

    def add(part: bytes) -> None:
        # Lengths keep parts apart: "ab" and "c" must not equal "a" and "bc".
        digest.update(len(part).to_bytes(8))
        digest.update(part)

    scope = request.scope
    for text in (scope["method"], scope["path"]):
        add(text.encode())
    add(scope["query_string"])
    if isinstance(body, bytes):
        add(body)
        return digest.hexdigest()
    for name, part in body.multi_items():
        add(name.encode())
        if isinstance(part, str):
            add(part.encode())
            continue
        add((part.filename or "").encode())
        part.file.seek(0)
        while chunk := part.file.read(CHUNK):
            add(chunk)
        part.file.seek(0)
        add(b"")
    return digest.hexdigest()


def remove_secrets(response: Response) -> bytes:
    """Return the body of a response to store, without fields in `SECRETS`."""
    body = bytes(response.body)
    if not body or response.headers.get("cache-control") != "no-store":
        return body
    fields: dict[str, Any] = json.loads(body)
    shown_once = dict.fromkeys(fields.keys() & set(SECRETS))
    return json.dumps(fields | shown_once).encode()
