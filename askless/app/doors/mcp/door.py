"""The door over HTTP: `POST /mcp`, stateless, with keys as bearer tokens."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from fastapi import APIRouter, FastAPI
from mcp.server.auth.handlers.metadata import ProtectedResourceMetadataHandler
from mcp.server.auth.middleware.bearer_auth import (
    AuthenticatedUser,
    BearerAuthBackend,
    RequireAuthMiddleware,
)
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.routes import build_resource_metadata_url, cors_middleware
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.auth import ProtectedResourceMetadata
from pydantic import AnyHttpUrl, SkipValidation
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from askless.app.doors.mcp.calls import Host
from askless.app.doors.mcp.server import make_server
from askless.app.errors import UnknownKeyError
from askless.app.http.plumbing.auth import ANYBODY, CALLER, get_caller
from askless.app.records import Caller
from askless.app.service.keys import MARK

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Address(NamedTuple):
    """What the log and the figures call a request's route by."""

    path: str


class KeyToken(AccessToken):
    """A token that was checked, with the caller that it belongs to."""

    caller: SkipValidation[Caller]


class CallerVerifier(TokenVerifier):
    """Knows keys as the API does: scopes, expiry, revocation, rate of requests.

    Where people sign in at an identity provider, it knows its access tokens, too.
    """

    def __init__(self, app: FastAPI) -> None:
        self.state = app.state

    async def verify_token(self, token: str) -> KeyToken | None:
        """Return a token's caller; raise HTTPException (429) for too many requests."""
        try:
            if self.state.people is None or token.startswith(f"{MARK}_"):
                caller = await self.state.guard.admit(lambda: self.state.engine, token)
            else:
                caller = await self.state.people.find_caller(token)
        except UnknownKeyError:
            return None
        return KeyToken(
            token=token,
            client_id=caller.key_id,
            subject=caller.tenant_id,
            scopes=sorted(caller.scopes),
            caller=caller,
        )


class Door:
    """The ASGI application of `/mcp`, behind the check of keys."""

    def __init__(self, app: FastAPI) -> None:
        self.state = app.state
        metadata_url = None
        if self.state.people is not None:
            metadata_url = build_resource_metadata_url(resource_url(app))
        self.require_key = RequireAuthMiddleware(self.serve, [], metadata_url)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = Address(PATH)
        has_header = any(name == b"authorization" for name, _ in scope["headers"])
        user = scope.get("user")
        if isinstance(user, AuthenticatedUser):
            token = user.access_token
            assert isinstance(token, KeyToken)
            scope[CALLER] = token.caller
            scope["log_fields"]["key"] = token.client_id
        elif has_header or self.state.guard.must_ask:
            await self.require_key(scope, receive, send)
            return
        else:
            scope[CALLER] = ANYBODY
        await self.serve(scope, receive, send)

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        manager: StreamableHTTPSessionManager = self.state.mcp
        await manager.handle_request(scope, receive, send)


def transport_security(settings: Any, *, is_local: bool) -> TransportSecuritySettings:
    """Return the host names and origins to answer to: those of the settings.

    Beyond loopback any name may be ours, unless ours are named.
    """
    own = settings.list_own_hosts(is_local=is_local)
    named = [f"[{host}]" if ":" in host else host for host in own]
    hosts = [f"{name}{port}" for name in (*LOOPBACK, *named) for port in ("", ":*")]
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=is_local or bool(own),
        allowed_hosts=hosts,
        allowed_origins=[*origins, *settings.own_origins],
    )


def resource_url(app: FastAPI) -> AnyHttpUrl:
    return AnyHttpUrl(f"{app.state.settings.site}{PATH}")


def resource_route(app: FastAPI) -> Route:
    """Return the route where agents learn where those they work for sign in."""
    # From texts: as the type has them, issuers get a slash that they don't have.
    metadata = ProtectedResourceMetadata.model_validate(
        {
            "resource": str(resource_url(app)),
            "authorization_servers": [app.state.people.address],
            "resource_name": "Askless",
        }
    )
    path = build_resource_metadata_url(resource_url(app)).path
    assert path is not None
    handle = ProtectedResourceMetadataHandler(metadata).handle
    methods = ["GET", "OPTIONS"]
    endpoint = cors_middleware(handle, methods)
    return Route(path, endpoint, methods=methods, include_in_schema=False)


def add_to(app: FastAPI) -> None:
    """Add `/mcp` to the application; it is served while the application lives."""
    state = app.state

    @asynccontextmanager
    async def live(_: FastAPI) -> AsyncIterator[None]:
        state.mcp = StreamableHTTPSessionManager(
            make_server(Host(app, get_caller)),
            json_response=True,
            stateless=True,
            security_settings=transport_security(
                state.settings, is_local=state.is_local
            ),
            max_request_body_size=state.settings.max_body_bytes,
        )
        async with state.mcp.run():
            yield

    backend = BearerAuthBackend(CallerVerifier(app))
    guarded = AuthenticationMiddleware(Door(app), backend)
    router = APIRouter(lifespan=live)
    # Without sessions there are neither streams (GET) nor ends of sessions (DELETE).
    route = Route(PATH, guarded, methods=["POST"], include_in_schema=False)
    router.routes.append(route)
    if state.people is not None:
        router.routes.append(resource_route(app))
    app.include_router(router)
