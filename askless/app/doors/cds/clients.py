"""Identify clients by their JSON Web Tokens, whose keys their JWK Sets have.

Each token opens the service once.
"""

import heapq
import json
import time
from hashlib import sha256
from threading import Lock
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from askless.app.doors.sign_in.tokens import LEEWAY_S, Issuer, named_issuer
from askless.app.errors import ForbiddenError, UnknownKeyError
from askless.app.http.plumbing.auth import CALLER, READING, authenticate
from askless.app.http.plumbing.deps import reading
from askless.app.records import Caller, Limits
from askless.app.service import keys
from askless.app.settings.doors import CdsClient


class Replays:
    """The tokens that this process has taken and that have not expired.

    At most `most` are remembered, each in some hundred bytes. Beyond that the one that
    expires first is forgotten, and could be used again until then.
    """

    def __init__(self, most: int = 100_000) -> None:
        self.most = most
        self.lock = Lock()
        self.used: set[bytes] = set()
        #: the same tokens by when they expire, in seconds since 1970
        self.by_expiry: list[tuple[float, bytes]] = []

    def use(self, issuer: str, jti: Any, expiry: float, now: float) -> bool:
        """Use a token; return whether it was not used before.

        A token is known by its issuer and its `jti`, which may be any JSON. `expiry` is
        the last moment at which it would be taken, a leeway included.
        """
        token = sha256(json.dumps([issuer, jti], sort_keys=True).encode()).digest()
        with self.lock:
            while self.by_expiry and self.by_expiry[0][0] < now:
                self.forget_first()
            if token in self.used:
                return False
            self.used.add(token)
            heapq.heappush(self.by_expiry, (expiry, token))
            if len(self.used) > self.most:
                self.forget_first()
        return True

    def forget_first(self) -> None:
        """Forget the token that expires first."""
        _, token = heapq.heappop(self.by_expiry)
        self.used.remove(token)


CLAIMS = ["iat", "jti"]
SCOPES = frozenset(("predict:read", "predict:write"))
KEY_START = "askl_"
bearer = HTTPBearer(auto_error=False)


class KnownClient(NamedTuple):
    """A client, and the tenant whose models it may ask."""

    tenant: str
    issuer: Issuer


class ClientGuard:
    """Checks the tokens of the clients that the settings name."""

    def __init__(self, clients: dict[str, CdsClient]) -> None:
        self.clients = {
            name: KnownClient(client.tenant, Issuer(name, client.jwks))
            for name, client in clients.items()
        }
        self.replays = Replays()

    def verify(self, token: str, audience: str) -> str:
        """Return the name of the tenant of a token's client.

        Raises UnknownKeyError, also for a token that was used before, or HTTPException
        (503) as `Issuer.read` does.
        """
        name = named_issuer(token)
        client = self.clients.get(name)
        if client is None:
            raise UnknownKeyError
        claims = client.issuer.read(token, audience, CLAIMS)
        expiry = float(claims["exp"]) + LEEWAY_S
        if not self.replays.use(name, claims["jti"], expiry, time.time()):
            raise UnknownKeyError
        return client.tenant


async def enter(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> None:
    """Identify the caller by a client's token, or by a key as the API does."""
    state = request.app.state
    token = None if credentials is None else credentials.credentials
    if token is None or token.startswith(KEY_START):
        caller = await authenticate(request, credentials)
        kind = "read" if request.method in READING else "write"
        if f"predict:{kind}" not in caller.scopes:
            raise ForbiddenError(f"predict:{kind}")
    else:
        audience = f"{base_of(request)}{request.url.path}"
        tenant = await run_in_threadpool(state.cds_guard.verify, token, audience)
        caller = await run_in_threadpool(find_caller, request, tenant)
    request.scope[CALLER] = caller


def find_caller(request: Request, tenant: str) -> Caller:
    state = request.app.state
    limits: Limits = state.settings.limits
    with reading(state.engine, None) as db:
        tenant_id = keys.find_tenant(db, tenant)
    if tenant_id is None:
        raise UnknownKeyError
    return Caller(tenant_id, None, SCOPES, limits)


def base_of(request: Request) -> str:
    """Return the address of the service, as clients know it."""
    address: str = request.app.state.settings.address or str(request.base_url)
    return address.rstrip("/")
