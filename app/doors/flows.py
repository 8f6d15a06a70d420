"""Sends browsers to sign in elsewhere, and takes them back: the code flow with PKCE.

What must come back is kept in a cookie of the browser that was sent. So no other
browser can end what this one began, and any replica can.
"""

import logging
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
from authlib.integrations.base_client import OAuthError
from authlib.integrations.starlette_client import OAuth
from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.doors.fetching import TIMEOUT_S, FetchError, fetch_json
from app.doors.tokens import ALGORITHMS
from app.logs import log
from app.settings.doors import TRUSTED

Json = dict[str, Any]
LASTS_S = 600
# After these metadata and keys of a server are fetched again.
FRESH_S = 300
MOST_BYTES = 1_000_000
STALE = "This sign-in began in another window or too long ago. Please sign in again."
Endpoint = Annotated[str, Field(pattern=TRUSTED)]


class FlowError(Exception):
    """A sign-in elsewhere has failed; `words` tell the person why."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


class Metadata(BaseModel):
    """What we take of an authorization server's metadata; nothing else reaches us."""

    model_config = ConfigDict(extra="ignore")

    issuer: str
    authorization_endpoint: Endpoint
    token_endpoint: Endpoint
    jwks_uri: Endpoint
    userinfo_endpoint: Endpoint | None = None
    end_session_endpoint: Endpoint | None = None
    id_token_signing_alg_values_supported: list[str] = ["RS256"]
    authorization_response_iss_parameter_supported: bool = False


class Kept(BaseModel):
    """What a browser keeps until it comes back."""

    model_config = ConfigDict(extra="forbid")

    #: the flow that began
    flow: str
    nonce: str
    code_verifier: str
    #: of the one who began it
    ours: dict[str, str]


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
    #: where browsers come back to, for this server alone
    callback: str
    #: who must have issued its tokens; None: whoever its metadata name
    issuer: str | None = None


class Known(NamedTuple):
    """A server's metadata, Authlib's client of it, and when they were fetched."""

    metadata: Metadata
    client: Any
    at: float


class Flow:
    """The flow with one authorization server; its name is ours alone."""

    def __init__(self, name: str, server: AuthServer) -> None:
        self.name = name
        self.server = server
        self.known: Known | None = None

    @property
    def host(self) -> str:
        """The server's name for people."""
        return urlsplit(self.server.metadata_url).netloc

    async def learn(self) -> Known:
        """Return what is known of the server; raise FlowError if it can't be used."""
        if self.known is None or time.monotonic() - self.known.at > FRESH_S:
            metadata = await self.fetch_metadata()
            self.known = Known(metadata, self.make_client(metadata), time.monotonic())
        return self.known

    async def fetch_metadata(self) -> Metadata:
        try:
            async with httpx2.AsyncClient() as client:
                said = await fetch_json(client, self.server.metadata_url, MOST_BYTES)
        except FetchError:
            raise self.unreachable() from None
        try:
            metadata = Metadata.model_validate(said)
        except ValidationError as error:
            place = ".".join(str(one) for one in error.errors()[0]["loc"])
            raise self.failed(f"metadata.{place}") from None
        if self.server.issuer not in (None, metadata.issuer):
            raise self.failed("other_issuer")
        return metadata

    def make_client(self, metadata: Metadata) -> Any:
        """Return Authlib's client of the server, which knows no more than we took."""
        options = {"scope": self.server.scope, "code_challenge_method": "S256"}
        if self.server.client_secret is None:
            options["token_endpoint_auth_method"] = "none"
        said = metadata.model_dump(exclude_none=True)
        algorithms = metadata.id_token_signing_alg_values_supported
        said["id_token_signing_alg_values_supported"] = [
            one for one in algorithms if one in ALGORITHMS
        ]
        return OAuth().register(
            self.name,
            client_id=self.server.client_id,
            client_secret=self.server.client_secret,
            client_kwargs={**options, "timeout": TIMEOUT_S},
            **said,
        )

    async def begin(
        self, request: Request, kept: Mapping[str, str], **asked: str
    ) -> Response:
        """Send the browser to sign in; `asked` are further parameters of the server."""
        client = (await self.learn()).client
        session: Json = {}
        request.scope["session"] = session
        response: Response = await client.authorize_redirect(
            request, self.server.callback, **asked
        )
        ((key, entry),) = session.items()
        state, data = key.removeprefix(self.state_key("")), entry["data"]
        ours = Kept(
            flow=self.name,
            nonce=data["nonce"],
            code_verifier=data["code_verifier"],
            ours=dict(kept),
        )
        response.set_cookie(
            cookie_name(request, state),
            urlsafe_b64encode(ours.model_dump_json().encode()).decode(),
            max_age=LASTS_S,
            path="/",
            secure=is_safe(request),
            httponly=True,
            samesite="lax",
        )
        response.headers["Cache-Control"] = "no-store"
        return response

    def state_key(self, state: str) -> str:
        """Return the name under which Authlib keeps a state."""
        return f"_state_{self.name}_{state}"

    async def finish(self, request: Request) -> Finished:
        """Exchange the code that a browser brought back; raise FlowError."""
        query = request.query_params
        kept = read_cookie(request)
        if kept is None or kept.flow != self.name:
            raise FlowError(400, STALE)
        if "error" in query:
            raise FlowError(403, f"{self.host} did not let you in.")
        known = await self.learn()
        metadata = known.metadata
        must_say = metadata.authorization_response_iss_parameter_supported
        if query.get("iss", None if must_say else metadata.issuer) != metadata.issuer:
            raise self.failed("other_issuer")
        data = {"nonce": kept.nonce, "code_verifier": kept.code_verifier}
        data["redirect_uri"] = self.server.callback
        key = self.state_key(query["state"])
        request.scope["session"] = {key: {"data": data, "exp": time.time() + LASTS_S}}
        wanted = {
            "iss": {"essential": True, "values": [metadata.issuer]},
            "aud": {"essential": True, "value": self.server.client_id},
        }
        try:
            token: Json = await known.client.authorize_access_token(
                request, claims_options=wanted
            )
            claims = dict(token["userinfo"])
        except httpx2.HTTPError:
            raise self.unreachable() from None
        except OAuthError as error:
            raise self.failed(str(error.error)) from None
        # What a server says is no token: Authlib and its libraries raise many kinds.
        except Exception as error:
            raise self.failed(type(error).__name__) from None
        return Finished(claims, token, kept.ours)

    async def read_userinfo(self, token: Json, sub: str) -> Json:
        """Return what the server says of a person beyond their ID token."""
        known = await self.learn()
        if known.metadata.userinfo_endpoint is None:
            return {}
        try:
            said = dict(await known.client.userinfo(token=token))
        except httpx2.HTTPError:
            raise self.unreachable() from None
        # As above.
        except Exception as error:
            raise self.failed(type(error).__name__) from None
        if said.get("sub") != sub:
            raise self.failed("other_userinfo")
        return said

    def unreachable(self) -> FlowError:
        words = f"{self.host} can't be reached. Please try again in a moment."
        return FlowError(503, words)

    def failed(self, why: str) -> FlowError:
        """Log why a server's words can't be used; return what the person is told."""
        # Its metadata or keys may be others by now.
        self.known = None
        log("sign_in.failed", logging.WARNING, host=self.host, why=why[:100])
        words = f"Signing in at {self.host} failed. The log of this service says why."
        return FlowError(502, words)


def cookie_name(request: Request, state: str) -> str:
    """Return the cookie of a state; the prefix keeps other hosts of a domain from it.

    Each has its own, so that windows don't meet.
    """
    prefix = "__Host-" if is_safe(request) else ""
    return f"{prefix}askless_flow_{sha256(state.encode()).hexdigest()[:16]}"


def is_safe(request: Request) -> bool:
    """Return whether browsers come by https; a proxy may hide that from a request."""
    site: str = request.app.state.settings.site
    return site.startswith("https:")


def read_cookie(request: Request) -> Kept | None:
    """Return what a browser kept of the state that it brings back; None: nothing."""
    state = request.query_params.get("state")
    if not state:
        return None
    try:
        text = request.cookies.get(cookie_name(request, state), "")
        return Kept.model_validate_json(urlsafe_b64decode(text))
    except ValueError:
        return None


def forget(request: Request, response: Response) -> None:
    """Remove the cookie of the state that a browser brought back: a flow ends once."""
    state = request.query_params.get("state")
    if state:
        name = cookie_name(request, state)
        response.delete_cookie(name, path="/", secure=is_safe(request), httponly=True)
