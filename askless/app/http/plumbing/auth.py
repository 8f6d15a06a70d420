"""Authenticate and admit callers: keys, scopes and the rate of requests.

Keys are required unless the service listens on loopback alone. There a call without a
key belongs to the first tenant, and may do anything.
"""

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from threading import Lock
from typing import Annotated, Any, NamedTuple

import sqlalchemy as sa
from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.exc import InternalError, OperationalError
from starlette.concurrency import run_in_threadpool

from askless.app.errors import ForbiddenError, UnknownKeyError
from askless.app.logs import LOGGER
from askless.app.records import DEFAULT_TENANT, Caller, Limits, StoredKey
from askless.app.service import keys
from askless.app.store.database.engine import transaction

# How long a revoked key may go on, and a key's new limits may wait.
RECHECK_S = 5.0
# Keys kept in memory; the one used longest ago goes first.
MOST_KEPT = 4096
USE_NOTED_EVERY = timedelta(minutes=5)
READING = ("GET", "HEAD", "OPTIONS")
ANYBODY = Caller(DEFAULT_TENANT, None, frozenset(keys.SCOPES), Limits())

# Names in a request's scope: of the caller, and of a page's caller (by cookie).
CALLER, PAGE_CALLER = "caller", "found_caller"

#: What the OpenAPI document calls it.
KEY = "key"
bearer = HTTPBearer(
    scheme_name=KEY,
    bearerFormat="askl_<id>_<secret>",
    description="A key, as `askless keys create` or `POST /keys` shows it once.",
    auto_error=False,
)


class CachedKey(NamedTuple):
    """A key, and the time at which it was read."""

    key: StoredKey
    at: float


@dataclass
class Bucket:
    """Token bucket of a key: holds at most the requests of one minute."""

    left: float
    at: float

    def take(self, per_minute: int, now: float) -> float:
        """Take one request from the bucket; return 0, or the seconds to wait."""
        filled = self.left + (now - self.at) * per_minute / 60
        self.left, self.at = min(float(per_minute), filled), now
        if self.left < 1:
            return (1 - self.left) * 60 / per_minute
        self.left -= 1
        return 0.0


@dataclass
class Guard:
    """Admits the callers of one process; each process counts its own requests."""

    limits: Limits
    must_ask: bool
    cached_keys: OrderedDict[bytes, CachedKey] = field(default_factory=OrderedDict)
    buckets: OrderedDict[str, Bucket] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)
    #: event streams that are open, by key
    n_streams: Counter[str] = field(default_factory=Counter)

    async def admit(self, engine: Callable[[], sa.Engine], token: str | None) -> Caller:
        """Return a token's caller; raise UnknownKeyError or HTTPException (429)."""
        if token is None:
            if self.must_ask:
                raise UnknownKeyError
            return ANYBODY
        caller = keys.caller_of(
            await self.find_key(engine, token), self.limits, datetime.now(UTC)
        )
        self.count_request(caller)
        return caller

    async def find_key(self, engine: Callable[[], sa.Engine], token: str) -> StoredKey:
        # Those of pages and of people are kept under other names.
        digest = sha256(b"key " + token.encode()).digest()
        return await self.recheck(digest, lambda: self.read_key(engine(), token))

    async def recheck(self, name: bytes, read: Callable[[], StoredKey]) -> StoredKey:
        """Return the key that is kept under a name, read again after `RECHECK_S`."""
        cached = self.cached_keys.get(name)
        if cached is None or time.monotonic() - cached.at > RECHECK_S:
            key = await run_in_threadpool(read)
            cached = CachedKey(key, time.monotonic())
            store_recent(self.cached_keys, name, cached)
        return cached.key

    def read_key(self, engine: sa.Engine, token: str) -> StoredKey:
        """Read a key from the database, and note its use."""
        with transaction(engine, None, is_read=True) as db:
            key = keys.identify_key(db, token)
        record_use(engine, key)
        return key

    def count_request(self, caller: Caller) -> None:
        """Count a request of a key; raise HTTPException (429) above its limit."""
        per_minute, key_id = caller.limits.requests_per_minute, caller.key_id
        if per_minute is None or key_id is None:
            return
        now = time.monotonic()
        with self.lock:
            bucket = self.buckets.get(key_id) or Bucket(float(per_minute), now)
            wait_s = bucket.take(per_minute, now)
            store_recent(self.buckets, key_id, bucket)
        if wait_s:
            detail = f"This key may send {per_minute} requests a minute."
            headers = {"Retry-After": str(math.ceil(wait_s))}
            raise HTTPException(429, detail, headers=headers)

    @contextmanager
    def open_stream(self, caller: Caller) -> Iterator[None]:
        """Count a stream of a key while it is open; raise HTTPException (429)."""
        most, key_id = caller.limits.streams, caller.key_id
        if most is None or key_id is None:
            yield
            return
        if self.n_streams[key_id] >= most:
            detail = f"This key may have {most} event streams open."
            raise HTTPException(429, detail, headers={"Retry-After": "5"})
        self.n_streams[key_id] += 1
        try:
            yield
        finally:
            self.n_streams[key_id] -= 1
            if not self.n_streams[key_id]:
                del self.n_streams[key_id]


def record_use(engine: sa.Engine, key: StoredKey) -> None:
    """Write when a key was used, every `USE_NOTED_EVERY`."""
    now = datetime.now(UTC)
    if key.last_used_at is None or now - key.last_used_at > USE_NOTED_EVERY:
        try:
            with transaction(engine, None) as db:
                keys.record_use(db, key.id, now)
        # A database that is full, or takes no changes, can still be read.
        except (OperationalError, InternalError):
            LOGGER.exception("key.use_not_noted")


def store_recent(cache: OrderedDict[Any, Any], name: object, value: object) -> None:
    """Keep the entries used last, at most `MOST_KEPT`."""
    cache[name] = value
    cache.move_to_end(name)
    while len(cache) > MOST_KEPT:
        cache.popitem(last=False)


async def authenticate(
    request: Request, credentials: HTTPAuthorizationCredentials | None
) -> Caller:
    """Return the caller by its page's cookie or its key; log the key's id."""
    page_caller: Caller | None = request.scope.get(PAGE_CALLER)
    if page_caller is not None:
        return page_caller
    guard: Guard = request.app.state.guard
    token = None if credentials is None else credentials.credentials
    # The header names another scheme than Bearer.
    if token is None and "authorization" in request.headers:
        raise UnknownKeyError
    caller = await guard.admit(lambda: request.app.state.engine, token)
    if caller.key_id is not None:
        request.scope["log_fields"]["key"] = caller.key_id
    return caller


def require_scope(caller: Caller, scope: str) -> None:
    """Raise ForbiddenError for a caller without a scope."""
    if scope not in caller.scopes:
        raise ForbiddenError(scope)


def needs(noun: str) -> Any:
    """Depend on a caller that may read a noun, or write it if the method does."""
    scopes = {True: f"{noun}:read", False: f"{noun}:write"}

    async def check(
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    ) -> None:
        caller = await authenticate(request, credentials)
        require_scope(caller, scopes[request.method in READING])
        request.scope[CALLER] = caller

    return Depends(check)


def caller_of(request: Request) -> Caller:
    """Return the caller that `needs` or the cookie of a page has identified."""
    scope = request.scope
    caller: Caller = scope[CALLER] if CALLER in scope else scope[PAGE_CALLER]
    return caller


async def get_caller(request: Request) -> Caller:
    return caller_of(request)


Called = Annotated[Caller, Depends(get_caller)]
