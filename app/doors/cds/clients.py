"""Identifies clients by their JSON Web Tokens, whose keys their JWK Sets have."""

from typing import Annotated, NamedTuple

import jwt
from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from app.errors import ForbiddenError, UnknownKeyError
from app.http.plumbing.auth import CALLER, READING, authenticate
from app.http.plumbing.deps import reading
from app.records import Caller, Limits
from app.service import keys
from app.settings.doors import CdsClient

# Asymmetric ones alone: with a public key as a secret anybody could sign.
ALGORITHMS = ["ES384", "RS384", "ES256", "RS256", "ES512", "RS512"]
CLAIMS = ["iss", "aud", "exp", "iat", "jti"]
SCOPES = frozenset(("predict:read", "predict:write"))
KEY_START = "askl_"
# How long a client's clock may differ from ours.
LEEWAY_S = 30
bearer = HTTPBearer(auto_error=False)


class KnownClient(NamedTuple):
    """A client with its JWK Set, which is fetched again now and then."""

    tenant: str
    jwks: jwt.PyJWKClient


class ClientGuard:
    """Checks the tokens of the clients that the settings name."""

    def __init__(self, clients: dict[str, CdsClient]) -> None:
        self.clients = {
            issuer: KnownClient(one.tenant, jwt.PyJWKClient(one.jwks, timeout=5))
            for issuer, one in clients.items()
        }

    def verify(self, token: str, audience: str) -> str:
        """Return the name of the tenant of a token's client.

        Raises UnknownKeyError for a token that is not valid here and now. Its own words
        on where its keys are (`jku`) are not believed.
        """
        try:
            said = jwt.decode(token, options={"verify_signature": False})
            client = self.clients[said["iss"]]
            key = client.jwks.get_signing_key_from_jwt(token)
            jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=audience,
                issuer=said["iss"],
                leeway=LEEWAY_S,
                options={"require": CLAIMS},
            )
        except jwt.PyJWKClientConnectionError:
            detail = "The client's JWK Set can't be fetched."
            raise HTTPException(503, detail, headers={"Retry-After": "2"}) from None
        # An issuer may be anything in JSON, a list too.
        except (jwt.PyJWTError, LookupError, TypeError, ValueError):
            raise UnknownKeyError from None
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
