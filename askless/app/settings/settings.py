"""Settings from the environment, prefix ASKLESS_; read by the entry points alone."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field

from askless.app.records import Limits, Moment
from askless.app.settings.doors import (
    TRUSTED,
    CdsClient,
    Grant,
    ServerName,
    SmartServer,
)
from askless.app.settings.hosts import is_loopback
from askless.app.settings.service import ServiceSettings

DEMO_NOTE = "Demo on public data. Not medical advice."
# Far above what one machine trains on in a day; a key may have limits of its own.
SHAPES = {"rows": 50_000_000, "columns": 100_000, "rounds": 100_000}
#: Other protocols that the service can speak.
DoorName = Literal["inference", "mcp", "fhir", "cds"]


class Settings(ServiceSettings):
    """Everything that differs between one installation and another."""

    authentication: bool = Field(
        default=False,
        description="Ask for keys on loopback too; elsewhere always.",
    )
    address: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/]+(/\S*)?$",
        description="What people open in a browser; printed at the start.",
    )
    demo: bool = Field(
        default=False,
        description="Have a tenant `demo` with three models, and print its key.",
    )
    note: str | None = Field(
        default=None,
        max_length=300,
        description="A line at the foot of each page, such as who answers questions.",
    )
    hosts: list[str] = Field(
        default=[], description="Host names to answer to; loopback names always."
    )
    origins: list[str] = Field(
        default=[], description="Origins whose pages may use the API, by CORS."
    )
    doors: list[DoorName] = Field(
        default=[], description="Protocols to speak besides ours, such as `mcp`."
    )
    mcp_key: str | None = Field(
        default=None,
        min_length=1,
        description="Key in whose name `askless mcp` works; by default its tenant, "
        "with all rights.",
    )
    cds_clients: dict[str, CdsClient] = Field(
        default={},
        description="Clients of CDS Hooks by issuer: their `jwks` and `tenant`.",
    )
    cds_budget: float | None = Field(
        default=None, ge=0, description="Budget of the sessions that CDS Hooks prepare."
    )
    oidc_issuer: str | None = Field(
        default=None,
        pattern=TRUSTED,
        description="OpenID Connect provider that people sign in at, by its address.",
    )
    oidc_client_id: str | None = Field(
        default=None, min_length=1, description="What the provider calls this service."
    )
    oidc_client_secret: str | None = Field(
        default=None,
        min_length=1,
        description="The secret that goes with it; without one PKCE alone protects.",
    )
    oidc_scope: str = Field(
        default="openid profile email",
        pattern=r"^openid( \S+)*$",
        description="What to ask the provider for, as it names that.",
    )
    oidc_claim: str = Field(
        default="groups",
        min_length=1,
        description="Claim that says what groups a person is in.",
    )
    oidc_groups: dict[str, Grant] = Field(
        default={},
        description="Groups by name: the `tenant` and `role` of their members.",
    )
    oidc_audience: str | None = Field(
        default=None,
        min_length=1,
        description="Audience of access tokens for `/mcp`; by default its address.",
    )
    smart_servers: dict[ServerName, SmartServer] = Field(
        default={},
        description="Record systems that may launch us, by names of yours.",
    )
    limit_requests_per_minute: int = Field(
        default=6_000, ge=1, description="Requests a key may send in a minute."
    )
    limit_trainings: int = Field(
        default=100, ge=1, description="Trainings of a key that have not ended."
    )
    limit_sessions: int = Field(
        default=100_000, ge=1, description="Sessions of a key that are not closed."
    )
    limit_dataset_bytes: int = Field(
        default=20_000_000_000, ge=1, description="Bytes of all datasets of a key."
    )

    @property
    def limits(self) -> Limits:
        """The limits of a key that has none of its own."""
        return Limits(
            requests_per_minute=self.limit_requests_per_minute,
            trainings=self.limit_trainings,
            sessions=self.limit_sessions,
            dataset_bytes=self.limit_dataset_bytes,
            **SHAPES,
        )

    @property
    def site(self) -> str:
        """The address that people open, which those that they sign in at know."""
        assert self.address is not None, "checked with the settings"
        return self.address.rstrip("/")

    @property
    def page_note(self) -> str | None:
        """The line at the foot of each page; the demo has one by default."""
        return self.note or (DEMO_NOTE if self.demo else None)

    @property
    def home_dir(self) -> Path:
        return self.home.expanduser().resolve()

    @property
    def url(self) -> str:
        """The database as SQLAlchemy names it."""
        if self.database_url is None:
            return f"sqlite:///{self.home_dir / 'askless.db'}"
        for prefix in ("postgresql://", "postgres://"):
            if self.database_url.startswith(prefix):
                return "postgresql+psycopg://" + self.database_url[len(prefix) :]
        return self.database_url

    @property
    def is_embedded(self) -> bool:
        """Whether the database is a file of ours rather than a server's."""
        return self.url.startswith("sqlite")

    @property
    def blobs_url(self) -> str:
        return self.blobs or f"file://{self.home_dir / 'uploads'}"

    def must_ask(self, *, is_local: bool) -> bool:
        """Return whether keys are required: always, except on loopback alone.

        Where people sign in, keys are required on loopback too.
        """
        is_named = not all(is_loopback(host) for host in self.hosts)
        must_sign_in = self.oidc_issuer is not None or bool(self.smart_servers)
        return self.authentication or not is_local or is_named or must_sign_in

    def moment_at(self, now: datetime) -> Moment:
        """Return a time with how long sessions may be idle then, or wait."""
        idle, waiting = self.session_ttl_s, self.session_waiting_ttl_s
        return Moment(now, timedelta(seconds=idle), timedelta(seconds=waiting))
