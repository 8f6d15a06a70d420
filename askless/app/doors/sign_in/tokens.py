"""Read JSON Web Tokens that others have signed; their keys are in their JWK Sets."""

import math
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
import httpx2
import jwt
from anyio import to_thread
from fastapi import HTTPException

from askless.app.doors.records.fetching import FetchError, fetch_json, trust_store
from askless.app.errors import UnknownKeyError

# Asymmetric ones alone: with a public key as a secret anybody could sign.
ALGORITHMS = [
    f"{kind}{size}" for kind in ("ES", "RS", "PS") for size in (256, 384, 512)
]
# How long an issuer's clock may differ from ours.
LEEWAY_S = 30
# After so many seconds a JWK Set is fetched again; and for a key that it did not have;
# and where it could not be fetched; its keys are used for so long meanwhile.
FRESH_S, RENEW_S, AWAY_S, LASTS_S = 300, 30, 30, 600
# The largest set, the most of its keys, and the longest that it may take.
MOST_BYTES, MOST_KEYS, WHOLE_S = 1_000_000, 100, 10
# A header, a claim or a key may be anything in JSON: a list, Infinity, very deep.
UNREADABLE = (
    *(jwt.PyJWTError, ArithmeticError, LookupError, RecursionError),
    *(TypeError, ValueError),
)


async def fetch_key_set(url: str) -> dict[str, Any]:
    """Return a JWK Set of at most `MOST_BYTES`; raise FetchError."""
    async with httpx2.AsyncClient(verify=trust_store()) as client:
        return await fetch_json(client, url, MOST_BYTES, WHOLE_S)


class KeySet:
    """The keys of a JWK Set, which is fetched anew now and then.

    Anybody can send tokens of keys that are not known. So the set is fetched once at a
    time and not soon again, and who waits for it holds no thread. Who has a key of
    the set before does not wait.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys: dict[str, jwt.PyJWK] = {}
        self.lock = anyio.Lock()
        self.fetched_at = self.away_until = -math.inf

    async def find(self, name: str) -> jwt.PyJWK:
        """Return a key; raise KeyError for none, or FetchError."""
        if self.is_due(name) and not (self.lock.locked() and self.is_usable(name)):
            async with self.lock:
                # Another may have fetched it meanwhile, or failed.
                if self.is_due(name):
                    await self.renew(name)
        return self.keys[name]

    def is_usable(self, name: str) -> bool:
        """Return whether a key may be used though its set is no longer fresh."""
        is_recent = time.monotonic() - self.fetched_at <= LASTS_S
        return name in self.keys and is_recent

    def is_due(self, name: str) -> bool:
        age_s = time.monotonic() - self.fetched_at
        return age_s > (FRESH_S if name in self.keys else RENEW_S)

    async def renew(self, name: str) -> None:
        """Fetch the set; where that fails, keys before stay in use for a while."""
        if time.monotonic() >= self.away_until:
            try:
                document = await fetch_key_set(self.url)
                self.keys = await to_thread.run_sync(read_keys, document)
            except FetchError:
                self.away_until = time.monotonic() + AWAY_S
            else:
                self.fetched_at = time.monotonic()
                return
        if not self.is_usable(name):
            raise FetchError


def read_keys(document: dict[str, Any]) -> dict[str, jwt.PyJWK]:
    """Return the keys that sign, by their names; raise FetchError for none."""
    try:
        listed = jwt.PyJWKSet.from_dict(document).keys[:MOST_KEYS]
    except UNREADABLE:
        raise FetchError from None
    return {
        str(key.key_id): key
        for key in listed
        if key.key_id and key.public_key_use in ("sig", None)
    }


class Issuer:
    """Somebody who signs tokens."""

    def __init__(self, name: str, jwks: str) -> None:
        self.name = name
        self.keys = KeySet(jwks)

    async def read(
        self, token: str, audience: str, required: Sequence[str]
    ) -> dict[str, Any]:
        """Return the claims of a token that is valid for us now.

        Its own words on where its keys are (`jku`) are not believed. Raises
        UnknownKeyError, or HTTPException (503) if the keys can't be fetched.
        """
        if named_issuer(token) != self.name:
            raise UnknownKeyError
        try:
            key = await self.keys.find(jwt.get_unverified_header(token)["kid"])
            decode = partial(
                jwt.decode,
                token,
                key,
                algorithms=ALGORITHMS,
                audience=audience,
                issuer=self.name,
                leeway=LEEWAY_S,
                options={"require": ["iss", "aud", "exp", *required]},
            )
            claims: dict[str, Any] = await to_thread.run_sync(decode)
            # A number as long as you like is one in JSON.
            for name in ("exp", "iat"):
                float(claims.get(name, 0))
        except FetchError:
            detail = "The issuer's JWK Set can't be fetched."
            raise HTTPException(503, detail, headers={"Retry-After": "30"}) from None
        except UNREADABLE:
            raise UnknownKeyError from None
        return claims


def named_issuer(token: str) -> str:
    """Return the unchecked issuer of a token; raise UnknownKeyError for none."""
    try:
        name = jwt.decode(token, options={"verify_signature": False})["iss"]
    except UNREADABLE:
        raise UnknownKeyError from None
    if not isinstance(name, str):
        raise UnknownKeyError
    return name
