"""Read JSON Web Tokens that others have signed; their keys are in their JWK Sets."""

import time
from collections.abc import Sequence
from typing import Any

import jwt
from fastapi import HTTPException

from askless.app.errors import UnknownKeyError

# Asymmetric ones alone: with a public key as a secret anybody could sign.
ALGORITHMS = [
    f"{kind}{size}" for kind in ("ES", "RS", "PS") for size in (256, 384, 512)
]
# How long an issuer's clock may differ from ours.
LEEWAY_S = 30
TIMEOUT_S = 5
# How long a JWK Set is not asked for that could not be fetched.
AWAY_S = 30
# A header, a claim or a key may be anything in JSON: a list, Infinity, very deep.
UNREADABLE = (
    *(jwt.PyJWTError, ArithmeticError, LookupError, RecursionError),
    *(TypeError, ValueError),
)


class KeySet(jwt.PyJWKClient):
    """A JWK Set that is fetched now and then, and not soon again where that failed.

    Otherwise anybody could have us wait for a server that is slow: a token of a key
    that is not known asks for the set again.
    """

    away_until = 0.0

    def fetch_data(self) -> Any:
        if time.monotonic() < self.away_until:
            raise jwt.PyJWKClientConnectionError("was away some seconds ago")
        try:
            return super().fetch_data()
        except UNREADABLE as error:
            self.away_until = time.monotonic() + AWAY_S
            raise jwt.PyJWKClientConnectionError("is no JWK Set") from error


class Issuer:
    """Somebody who signs tokens."""

    def __init__(self, name: str, jwks: str) -> None:
        self.name = name
        self.keys = KeySet(jwks, timeout=TIMEOUT_S)

    def read(
        self, token: str, audience: str, required: Sequence[str]
    ) -> dict[str, Any]:
        """Return the claims of a token that is valid for us now.

        Its own words on where its keys are (`jku`) are not believed. Raises
        UnknownKeyError, or HTTPException (503) if the keys can't be fetched.
        """
        if named_issuer(token) != self.name:
            raise UnknownKeyError
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                self.keys.get_signing_key_from_jwt(token),
                algorithms=ALGORITHMS,
                audience=audience,
                issuer=self.name,
                leeway=LEEWAY_S,
                options={"require": ["iss", "aud", "exp", *required]},
            )
            # A number as long as you like is one in JSON.
            for name in ("exp", "iat"):
                float(claims.get(name, 0))
        except jwt.PyJWKClientConnectionError:
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
