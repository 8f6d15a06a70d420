"""Fetch and cache the metadata of OAuth servers (RFC 8414).

Authlib can fetch metadata itself, but then it keeps them as long as the process lives,
and takes all of them: any size, any issuer, addresses on this machine.
"""

import logging
import time
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import anyio
import httpx2
from authlib.integrations.starlette_client import OAuth, StarletteOAuth2App
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from askless.app.doors.records.fetching import (
    TIMEOUT_S,
    FetchError,
    fetch_json,
    trust_store,
)
from askless.app.doors.sign_in.tokens import ALGORITHMS, MOST_BYTES, fetch_key_set
from askless.app.logs import log
from askless.app.settings.doors import TRUSTED

# After so many seconds the metadata and keys of a server are fetched again; and, where
# that failed, after so many.
FRESH_S = 300
AWAY_S = 30
AWAY = 503


def check_address(text: str) -> str:
    """Return an address whose host and port are ones; else raise ValueError."""
    _ = urlsplit(text).port
    return text


Endpoint = Annotated[str, Field(pattern=TRUSTED), AfterValidator(check_address)]


class FlowError(Exception):
    """A sign-in elsewhere has failed; `words` tell the person why."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


class Metadata(BaseModel):
    """The part of an authorization server's metadata that we read, and no more."""

    model_config = ConfigDict(extra="ignore")

    issuer: str
    authorization_endpoint: Endpoint
    token_endpoint: Endpoint
    jwks_uri: Endpoint
    userinfo_endpoint: Endpoint | None = None
    end_session_endpoint: Endpoint | None = None
    id_token_signing_alg_values_supported: list[str] = ["RS256"]
    authorization_response_iss_parameter_supported: bool = False


class Registration(NamedTuple):
    """How an authorization server knows us."""

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


class BoundedClient(StarletteOAuth2App):  # type: ignore[misc]  # authlib has no types
    """Authlib's client, with our bounds on the server's JWK Set."""

    async def fetch_jwk_set(self, force: bool = False) -> Any:
        """Return the keys of the metadata, fetched at first or where forced."""
        if force or "jwks" not in self.server_metadata:
            url = self.server_metadata["jwks_uri"]
            self.server_metadata["jwks"] = await fetch_key_set(url)
        return self.server_metadata["jwks"]


class AuthServer:
    """One authorization server; its name is ours alone."""

    def __init__(self, name: str, registration: Registration) -> None:
        self.name = name
        self.registration = registration
        self.known: Known | None = None
        self.lock = anyio.Lock()
        # The last failure, and the time until which we do not try again.
        self.trouble: FlowError | None = None
        self.away_until = 0.0

    @property
    def host(self) -> str:
        """The server's name for people."""
        return urlsplit(self.registration.metadata_url).netloc

    async def learn(self) -> Known:
        """Return the server's metadata and client; raise FlowError if it can't be used.

        Earlier metadata stay in use while the server is away.
        """
        if self.is_fresh():
            assert self.known is not None
            return self.known
        if self.known is not None and self.lock.locked():
            # Somebody asks anew already, and may have to wait.
            return self.known
        async with self.lock:
            # Another may have learnt it, or failed, meanwhile.
            if not self.is_fresh() and time.monotonic() > self.away_until:
                await self.learn_anew()
            if self.known is None:
                assert self.trouble is not None
                raise FlowError(self.trouble.status, self.trouble.words)
            return self.known

    def is_fresh(self) -> bool:
        return self.known is not None and time.monotonic() - self.known.at < FRESH_S

    async def learn_anew(self) -> None:
        try:
            metadata = await self.fetch_metadata()
        except FlowError as error:
            self.trouble, self.away_until = error, time.monotonic() + AWAY_S
            if error.status != AWAY:
                self.known = None
        else:
            self.known = Known(metadata, self.make_client(metadata), time.monotonic())

    async def fetch_metadata(self) -> Metadata:
        url = self.registration.metadata_url
        try:
            async with httpx2.AsyncClient(verify=trust_store()) as client:
                document = await fetch_json(client, url, MOST_BYTES)
        except FetchError:
            raise self.unreachable() from None
        stated = {name: value for name, value in document.items() if value is not None}
        try:
            metadata = Metadata.model_validate(stated)
        except ValidationError as error:
            place = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise self.failed(f"metadata.{place}") from None
        if self.registration.issuer not in (None, metadata.issuer):
            raise self.failed("other_issuer")
        # A server elsewhere must not send us to an address of this machine.
        addresses = [str(value) for value in metadata.model_dump().values()]
        if url.startswith("https:") and any(
            address.startswith("http:") for address in addresses
        ):
            raise self.failed("metadata.http")
        return metadata

    def make_client(self, metadata: Metadata) -> Any:
        """Return Authlib's client of the server, which knows no more than we took."""
        options = {"scope": self.registration.scope, "code_challenge_method": "S256"}
        if self.registration.client_secret is None:
            options["token_endpoint_auth_method"] = "none"
        fields = metadata.model_dump(exclude_none=True)
        algorithms = metadata.id_token_signing_alg_values_supported
        fields["id_token_signing_alg_values_supported"] = [
            algorithm for algorithm in algorithms if algorithm in ALGORITHMS
        ]
        return OAuth().register(
            self.name,
            client_cls=BoundedClient,
            client_id=self.registration.client_id,
            client_secret=self.registration.client_secret,
            client_kwargs={**options, "timeout": TIMEOUT_S, "verify": trust_store()},
            **fields,
        )

    def unreachable(self) -> FlowError:
        words = f"{self.host} can't be reached. Please try again in a moment."
        return FlowError(AWAY, words)

    def failed(self, why: str) -> FlowError:
        """Log why a server's words can't be used; return what the person is told."""
        log("sign_in.failed", logging.WARNING, host=self.host, why=why[:100])
        words = f"Signing in at {self.host} failed. The log of this service says why."
        return FlowError(502, words)
