"""Knows people by access tokens, which their agents bring."""

import time
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

from fastapi import FastAPI, HTTPException
from starlette.concurrency import run_in_threadpool

from app.doors.entering import Entitled, find_key
from app.doors.flows import Flow, FlowError
from app.doors.oidc.grants import NoGrantError, entitle
from app.doors.tokens import Issuer
from app.http.plumbing.auth import RECHECK_S, CachedKey, Guard, keep_recent
from app.records import Caller, StoredKey
from app.service import keys

NO_GROUP = "You are in no group that may do anything here."


class Provider:
    """The identity provider of the settings, as doors for programs see it."""

    def __init__(self, app: FastAPI, flow: Flow, audience: str) -> None:
        self.state = app.state
        self.flow = flow
        self.audience = audience
        self.issuer: Issuer | None = None

    @property
    def address(self) -> str:
        return str(self.state.settings.oidc_issuer)

    async def find_caller(self, token: str) -> Caller:
        """Return the caller of an access token that is meant for us.

        Raises UnknownKeyError, or HTTPException: 403 for a person in no group, 429 for
        too many requests, 503 where the provider can't be reached.
        """
        issuer = await self.find_issuer()
        claims = await run_in_threadpool(issuer.read, token, self.audience, ["sub"])
        settings = self.state.settings
        try:
            found = entitle(claims, settings.oidc_claim, settings.oidc_groups)
        except NoGrantError:
            raise HTTPException(403, NO_GROUP) from None
        key = await self.find_key(token, found)
        guard: Guard = self.state.guard
        caller = keys.caller_of(key, guard.limits, datetime.now(UTC))
        # A token may be for less than the person may do on pages.
        caller = replace(caller, scopes=frozenset(found.person.scopes))
        guard.count_request(caller)
        return caller

    async def find_issuer(self) -> Issuer:
        if self.issuer is None:
            try:
                metadata = await self.flow.metadata()
            except FlowError as error:
                raise HTTPException(503, error.words) from None
            self.issuer = Issuer(self.address, str(metadata.get("jwks_uri")))
        return self.issuer

    async def find_key(self, token: str, found: Entitled) -> StoredKey:
        """Return the person's key, read again after `RECHECK_S`."""
        guard: Guard = self.state.guard
        # Not as keys are kept, which open the API as well.
        name = sha256(b"person " + token.encode()).digest()
        cached = guard.cached_keys.get(name)
        if cached is None or time.monotonic() - cached.at > RECHECK_S:
            engine = self.state.engine
            key = await run_in_threadpool(find_key, engine, found)
            cached = CachedKey(key, time.monotonic())
            keep_recent(guard.cached_keys, name, cached)
        return cached.key
