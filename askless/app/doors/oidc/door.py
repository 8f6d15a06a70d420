"""Pages that send people to their identity provider, and take them back.

People are also known by access tokens, which their agents bring.
"""

import time
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.responses import Response
from pydantic import AnyHttpUrl

from askless.app.doors.sign_in.auth_servers import (
    AWAY_S,
    AuthServer,
    FlowError,
    Registration,
)
from askless.app.doors.sign_in.entering import (
    Entitled,
    add_failure_page,
    find_caller,
    find_key,
    name_of,
    open_page,
)
from askless.app.doors.sign_in.flows import Flow
from askless.app.doors.sign_in.tokens import Issuer, named_issuer
from askless.app.errors import UnknownKeyError
from askless.app.http.plumbing.auth import Guard
from askless.app.pages.accounts.sign_in import OtherSignIn, safe_return_path
from askless.app.pages.plumbing.frame import redirect
from askless.app.records import Caller, StoredKey
from askless.app.service import keys
from askless.app.service.keys import ROLES
from askless.app.service.people import Person
from askless.app.service.sign_ins import LASTS
from askless.app.settings.doors import Grant
from askless.core.errors import RefusedError

Json = dict[str, Any]


class NoGrantError(Exception):
    """None of a person's groups may do anything here."""


def get_claim(claims: Json, name: str) -> Any:
    """Return a claim; dots lead into nested ones unless one has the whole name."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def list_groups(claims: Json, claim: str) -> list[str]:
    """Return the groups that a claim names: a list of texts, or one."""
    claimed = get_claim(claims, claim)
    names = claimed if isinstance(claimed, list) else [claimed]
    return [name for name in names if isinstance(name, str)]


def make_entitled(claims: Json, claim: str, grants: dict[str, Grant]) -> Entitled:
    """Return a person with all rights of their groups within one tenant.

    The tenant is that of the group which the settings name first. Raises NoGrantError.
    """
    groups = set(list_groups(claims, claim))
    granted = [grant for group, grant in grants.items() if group in groups]
    if not granted:
        raise NoGrantError
    tenant = granted[0].tenant
    roles = [ROLES[grant.role] for grant in granted if grant.tenant == tenant]
    scopes = tuple(dict.fromkeys(scope for role in roles for scope in role))
    name = name_of(claims)
    person = Person(str(claims.get("iss")), str(claims.get("sub")), name, scopes)
    return Entitled(tenant, person)


NO_GROUP = "You are in no group that may do anything here."


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
            entitled = make_entitled(claims, settings.oidc_claim, settings.oidc_groups)
            key = await self.find_key(token, entitled)
        except NoGrantError:
            raise HTTPException(403, NO_GROUP) from None
        except RefusedError:
            raise UnknownKeyError from None
        guard: Guard = self.state.guard
        caller = keys.caller_of(key, guard.limits, datetime.now(UTC))
        # A token may be for less than the person may do on pages, or for more.
        caller = replace(caller, scopes=frozenset(entitled.person.scopes))
        guard.count_request(caller)
        return caller

    async def read(self, token: str) -> dict[str, Any]:
        """Return the person of a token; errors are those of `find_caller`.

        A token older than a sign-in lasts is refused: its groups may have changed.
        """
        # Before anything is fetched for a stranger.
        if named_issuer(token) != self.address:
            raise UnknownKeyError
        issuer = await self.find_issuer()
        claims = await issuer.read(token, self.audience, ["sub", "iat"])
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

    async def find_key(self, token: str, entitled: Entitled) -> StoredKey:
        guard: Guard = self.state.guard
        # Not as keys are kept, which open the API as well.
        name = sha256(b"person " + token.encode()).digest()
        return await guard.recheck(name, lambda: find_key(self.state.engine, entitled))


router = APIRouter(prefix="/ui/sign-in/oidc", include_in_schema=False)
CALLBACK = "/ui/sign-in/oidc/callback"
NOWHERE = "{} has no page to sign out at. Its sign-in may end with the browser."


def add_to(app: FastAPI) -> None:
    """Let people sign in at the provider of the settings, on pages and for agents."""
    settings = app.state.settings
    issuer, client_id = settings.oidc_issuer, settings.oidc_client_id
    assert issuer is not None
    assert client_id is not None
    registration = Registration(
        metadata_url=f"{issuer.rstrip('/')}/.well-known/openid-configuration",
        client_id=client_id,
        client_secret=settings.oidc_client_secret,
        scope=settings.oidc_scope,
        callback=f"{settings.site}{CALLBACK}",
        issuer=issuer,
    )
    app.state.oidc_flow = flow = Flow(AuthServer("oidc", registration))
    app.state.people = Provider(app, flow.server)
    app.state.sign_in_ways.append(OtherSignIn(flow.server.host, router.prefix))
    add_failure_page(app)
    app.include_router(router)


@router.get("")
async def begin_sign_in(request: Request) -> Response:
    """Send the browser to the provider; it comes back to the page that it wanted."""
    flow: Flow = request.app.state.oidc_flow
    kept = {"next": safe_return_path(request.query_params.get("next"))}
    return await flow.begin(request, kept)


@router.get("/out")
async def sign_out_at_provider(request: Request) -> Response:
    """Send the browser to where the provider signs people out."""
    flow: Flow = request.app.state.oidc_flow
    address = (await flow.server.learn()).metadata.end_session_endpoint
    if address is None:
        raise FlowError(404, NOWHERE.format(flow.server.host))
    query = urlencode({"client_id": flow.server.registration.client_id})
    return redirect(f"{address}{'&' if '?' in address else '?'}{query}")


@router.get("/callback")
async def finish_sign_in(request: Request) -> Response:
    """Sign in whom the provider knows, with the rights of their groups."""
    flow: Flow = request.app.state.oidc_flow
    settings = request.app.state.settings
    done = await flow.finish(request)
    claims, claim = done.claims, settings.oidc_claim
    if get_claim(claims, claim) is None:
        userinfo = await flow.read_userinfo(done.token, claims["sub"])
        claims = {**claims, **userinfo, "iss": claims["iss"], "sub": claims["sub"]}
    try:
        entitled = make_entitled(claims, claim, settings.oidc_groups)
    except NoGrantError:
        raise FlowError(403, NO_GROUP) from None
    caller = await find_caller(request, entitled)
    return await open_page(request, caller, safe_return_path(done.kept.get("next")))
