"""Sends browsers to sign in elsewhere, and takes them back: the code flow with PKCE.

What must come back is kept in a cookie of the browser that was sent. So no other
browser can end what this one began, and any replica can.
"""

import json
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
from authlib.integrations.base_client import MismatchingStateError, OAuthError
from authlib.integrations.starlette_client import OAuth
from fastapi import Request
from fastapi.responses import Response
from joserfc.errors import JoseError

from app.doors.tokens import ALGORITHMS
from app.logs import log

Json = dict[str, Any]
LASTS_S = 600
TIMEOUT_S = 10
# What was kept for the one who began, beside what the protocol needs.
OURS = "ours"
ALGORITHM_NAMES = "id_token_signing_alg_values_supported"


class FlowError(Exception):
    """A sign-in elsewhere has failed; `words` tell the person why."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


class Finished(NamedTuple):
    """What a sign-in came to."""

    #: of the ID token, which is checked
    claims: Json
    #: the answer of the token endpoint
    token: Json
    #: what was kept when it began
    kept: dict[str, str]


class AuthServer(NamedTuple):
    """An authorization server, and how it knows us."""

    #: where its metadata are
    metadata_url: str
    client_id: str
    #: None: a public client
    client_secret: str | None
    scope: str
    #: who must have issued its tokens; None: whoever its metadata name
    issuer: str | None = None


class Flow:
    """The flow with one authorization server; its metadata are fetched at first use."""

    def __init__(self, name: str, server: AuthServer) -> None:
        self.name = name
        self.server = server
        options = {"scope": server.scope, "code_challenge_method": "S256"}
        if server.client_secret is None:
            options["token_endpoint_auth_method"] = "none"
        self.app = OAuth().register(
            name,
            client_id=server.client_id,
            client_secret=server.client_secret,
            server_metadata_url=server.metadata_url,
            client_kwargs={**options, "timeout": TIMEOUT_S},
        )

    @property
    def host(self) -> str:
        """The server's name for people."""
        return urlsplit(self.server.metadata_url).netloc

    async def metadata(self) -> Json:
        """Return the server's metadata; raise FlowError if they are not its own."""
        try:
            found: Json = await self.app.load_server_metadata()
        except (httpx2.HTTPError, ValueError):
            raise self.unreachable() from None
        issuer = self.server.issuer
        if issuer is not None and found.get("issuer") != issuer:
            self.app.server_metadata.clear()
            raise self.failed("other_issuer")
        signed_by = found.get(ALGORITHM_NAMES) or []
        found[ALGORITHM_NAMES] = [one for one in signed_by if one in ALGORITHMS]
        return found

    async def begin(
        self, request: Request, callback: str, kept: Mapping[str, str], **asked: str
    ) -> Response:
        """Send the browser to sign in; `asked` are further parameters of the server."""
        await self.metadata()
        session: Json = {OURS: dict(kept)}
        request.scope["session"] = session
        try:
            response: Response = await self.app.authorize_redirect(
                request, callback, **asked
            )
        except (RuntimeError, ValueError):
            raise self.failed("no_endpoint") from None
        for name in session.keys() - {OURS}:
            # Where it was sent, which is long.
            session[name]["data"].pop("url", None)
        response.set_cookie(
            cookie_name(request),
            urlsafe_b64encode(json.dumps(session).encode()).decode(),
            max_age=LASTS_S,
            path="/",
            secure=is_safe(request),
            httponly=True,
            samesite="lax",
        )
        response.headers["Cache-Control"] = "no-store"
        return response

    async def finish(self, request: Request) -> Finished:
        """Exchange the code that a browser brought back; raise FlowError."""
        request.scope["session"] = read_cookie(request)
        metadata = await self.metadata()
        issuer = metadata.get("issuer")
        if request.query_params.get("iss", issuer) != issuer:
            raise self.failed("other_issuer")
        wanted = {
            "iss": {"essential": True, "values": [issuer]},
            "aud": {"essential": True, "value": self.server.client_id},
        }
        try:
            token: Json = await self.app.authorize_access_token(
                request, claims_options=wanted
            )
        except MismatchingStateError:
            raise FlowError(400, STALE) from None
        except OAuthError as error:
            if "error" in request.query_params:
                words = f"{self.host} did not let you in."
                raise FlowError(403, words) from None
            raise self.failed(str(error.error)) from None
        except httpx2.HTTPError:
            raise self.unreachable() from None
        # What the server says may be no token of its own, or no JSON.
        except (JoseError, LookupError, TypeError, ValueError, RuntimeError) as error:
            raise self.failed(type(error).__name__) from None
        if "userinfo" not in token:
            raise self.failed("no_id_token")
        return Finished(dict(token["userinfo"]), token, kept_of(request))

    async def read_userinfo(self, token: Json, sub: str) -> Json:
        """Return what the server says of a person beyond their ID token."""
        metadata = await self.metadata()
        if "userinfo_endpoint" not in metadata:
            return {}
        try:
            said: Json = dict(await self.app.userinfo(token=token))
        except httpx2.HTTPError:
            raise self.unreachable() from None
        except (TypeError, ValueError):
            raise self.failed("no_userinfo") from None
        if said.get("sub") != sub:
            raise self.failed("other_userinfo")
        return said

    def unreachable(self) -> FlowError:
        words = f"{self.host} can't be reached. Please try again in a moment."
        return FlowError(503, words)

    def failed(self, why: str) -> FlowError:
        """Log why a server's words can't be used; return what the person is told."""
        log("sign_in.failed", logging.WARNING, host=self.host, why=why[:100])
        words = f"Signing in at {self.host} failed. The log of this service says why."
        return FlowError(502, words)


STALE = "This sign-in began in another window or too long ago. Please sign in again."


def cookie_name(request: Request) -> str:
    """Return the cookie's name; the prefix keeps other hosts of a domain from it."""
    return "__Host-askless_flow" if is_safe(request) else "askless_flow"


def is_safe(request: Request) -> bool:
    """Return whether browsers come by https; a proxy may hide that from a request."""
    site: str = request.app.state.settings.site
    return site.startswith("https:")


def read_cookie(request: Request) -> Json:
    """Return what a browser kept; nothing for a cookie that is not ours."""
    text = request.cookies.get(cookie_name(request), "")
    try:
        kept = json.loads(urlsafe_b64decode(text))
    except ValueError:
        return {}
    is_ours = isinstance(kept, dict) and all(isinstance(v, dict) for v in kept.values())
    return kept if is_ours else {}


def kept_of(request: Request) -> dict[str, str]:
    """Return what was kept for the one who began, before the flow has ended."""
    return dict(read_cookie(request).get(OURS, {}))


def forget(request: Request, response: Response) -> None:
    """Remove the cookie: a flow ends once."""
    name = cookie_name(request)
    response.delete_cookie(name, path="/", secure=is_safe(request), httponly=True)
