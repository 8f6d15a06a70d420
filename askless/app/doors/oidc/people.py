"""Knows people by access tokens, which their agents bring."""

import time
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, HTTPException
from pydantic import AnyHttpUrl
from starlette.concurrency import run_in_threadpool

from askless.app.doors.oidc.grants import NoGrantError, entitle
from askless.app.doors.sign_in.auth_servers import AWAY_S, AuthServer, FlowError
from askless.app.doors.sign_in.entering import Entitled, find_key
from askless.app.doors.sign_in.tokens import Issuer, named_issuer
from askless.app.errors import UnknownKeyError
from askless.app.http.plumbing.auth import RECHECK_S, CachedKey, Guard, keep_recent
from askless.app.records import Caller, StoredKey
from askless.app.service import keys
from askless.app.service.sign_ins import LASTS
from askless.core.errors import RefusedError

NO_GROUP = "You are in no group that may do anything here."
# Tokens that are checked at a time. One may wait for the provider's keys.
MOST_CHECKED = 4


class Provider:
    """The identity provider of the settings, as doors for programs see it."""

    def __init__(self, app: FastAPI, server: AuthServer) -> None:
        self.state = app.state
        self.server = server
        # It must be written as the metadata of `/mcp` write it.
        self.audience: str = app.state.settings.oidc_audience or str(
            AnyHttpUrl(f"{app.state.settings.site}/mcp")
        )
        self.issuer: Issuer | None = None
        self.jwks = ""
        self.places: CapacityLimiter | None = None

    @property
    def address(self) -> str:
        return str(self.state.settings.oidc_issuer)

    async def find_caller(self, token: str) -> Caller:
        """Return the caller of an access token that is meant for us.

        Raises UnknownKeyError, or HTTPException: 403 for a person in no group, 429 for
        too many requests, 503 where the provider can't be reached.
        """
        claims = await self.read(token)
        settings = self.state.settings
        try:
            found = entitle(claims, settings.oidc_claim, settings.oidc_groups)
            key = await self.find_key(token, found)
        except NoGrantError:
            raise HTTPException(403, NO_GROUP) from None
        except RefusedError:
            raise UnknownKeyError from None
        guard: Guard = self.state.guard
        caller = keys.caller_of(key, guard.limits, datetime.now(UTC))
        # A token may be for less than the person may do on pages, or for more.
        caller = replace(caller, scopes=frozenset(found.person.scopes))
        guard.count_request(caller)
        return caller

    async def read(self, token: str) -> dict[str, Any]:
        """Return what a token says, as `find_caller` does.

        One that is older than a sign-in lasts is refused: its groups may have changed.
        """
        # Before anything is fetched for a stranger.
        if named_issuer(token) != self.address:
            raise UnknownKeyError
        issuer = await self.find_issuer()
        if self.places is None:
            self.places = CapacityLimiter(MOST_CHECKED)
        claims: dict[str, Any] = await to_thread.run_sync(
            issuer.read, token, self.audience, ["sub", "iat"], limiter=self.places
        )
        age_s = time.time() - float(claims["iat"])
        if age_s > LASTS.total_seconds():
            raise UnknownKeyError
        return claims

    async def find_issuer(self) -> Issuer:
        try:
            jwks = (await self.server.learn()).metadata.jwks_uri
            if self.issuer is None or self.jwks != jwks:
                self.issuer, self.jwks = Issuer(self.address, jwks), jwks
        except FlowError as error:
            headers = {"Retry-After": str(AWAY_S)}
            raise HTTPException(503, error.words, headers=headers) from None
        return self.issuer

    async def find_key(self, token: str, found: Entitled) -> StoredKey:
        """Return the person's key, read again after `RECHECK_S`."""
        guard: Guard = self.state.guard
        # Not as keys are kept, which open the API as well.
        name = sha256(b"person " + token.encode()).digest()
        cached = guard.cached_keys.get(name)
        if cached is None or time.monotonic() - cached.at > RECHECK_S:
            key = await run_in_threadpool(find_key, self.state.engine, found)
            cached = CachedKey(key, time.monotonic())
            keep_recent(guard.cached_keys, name, cached)
        return cached.key
