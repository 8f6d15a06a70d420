"""Settings from the environment, prefix ASKLESS_; read by the entry points alone."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import sqlalchemy as sa
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from askless.app.records import Limits, Moment
from askless.app.settings.doors import (
    TRUSTED,
    CdsClient,
    Grant,
    ServerName,
    SmartServer,
)
from askless.app.settings.hosts import is_loopback

DEMO_NOTE = "The demo's tables are public data. Not medical advice."
# Far above what one machine trains on in a day; a key may have limits of its own.
SHAPES = {"rows": 50_000_000, "columns": 100_000, "rounds": 100_000}
# Event streams of a key that are open in a process: a thousand take a fifth of a core.
MOST_STREAMS = 1_000
#: Other protocols that the service can speak.
DoorName = Literal["inference", "mcp", "fhir", "cds"]


class Settings(BaseSettings):
    """Everything that differs between one installation and another."""

    model_config = SettingsConfigDict(
        env_prefix="ASKLESS_",
        # As compose files write a variable that is not set.
        env_ignore_empty=True,
        allow_inf_nan=False,
        frozen=True,
    )

    home: Path = Field(
        default=Path("~/.askless"),
        description="Folder of the embedded database and of the uploads.",
    )
    database_url: str | None = Field(
        default=None,
        description="Another database, such as postgresql://user:pw@host/askless.",
    )
    blobs: str | None = Field(
        default=None,
        description="Where uploads go instead of the folder, such as s3://bucket/x.",
    )
    max_upload_bytes: int = Field(
        default=200_000_000, ge=1, description="Largest upload accepted."
    )
    dataset_places: list[str] = Field(
        default=[],
        description="Where tables may lie that stay there, such as s3://bucket/x.",
    )
    max_rows: int = Field(
        default=10_000_000, ge=1, le=2**31 - 1, description="Most rows of a table."
    )
    parse_memory_bytes: int = Field(
        default=2_000_000_000,
        ge=100_000_000,
        description="Memory that reading and checking one table may take.",
    )
    parse_timeout_s: float = Field(
        default=120.0,
        ge=1,
        le=3_600,
        description="Time that reading and checking one table may take.",
    )
    max_parsers: int = Field(
        default=2,
        ge=1,
        le=64,
        description="Tables that one API process reads at a time.",
    )
    max_body_bytes: int = Field(
        default=2_000_000, ge=1, description="Largest other request body accepted."
    )
    scrape_token: str | None = Field(
        default=None,
        min_length=16,
        description="Bearer token of `/metrics`, needed where keys are.",
    )
    telemetry: bool = Field(
        default=False,
        description="Send traces and metrics; the variables `OTEL_…` say where.",
    )
    drain_s: float = Field(
        default=0.0,
        ge=0,
        le=3_600,
        description="Seconds served on after SIGTERM, with `/readyz` at 503.",
    )
    database_connections: int = Field(
        default=24,
        # Eight requests may change something at a time, and others read.
        ge=10,
        le=1_000,
        description="Most connections of an API process to its database, all kept.",
    )
    heartbeat_timeout_s: float = Field(
        default=20.0,
        gt=0,
        le=86_400,
        description="Silence after which a worker counts as lost.",
    )
    max_attempts: int = Field(
        default=3, ge=1, description="Workers a training may lose before it fails."
    )
    max_training_s: float = Field(
        default=24 * 3600.0,
        gt=0,
        le=366 * 24 * 3600.0,
        description="Time from a training's start after which it fails.",
    )
    max_training_bytes: int | None = Field(
        default=None,
        ge=1,
        description="Most memory a training may take; by default what there is.",
    )
    cluster: str | None = Field(
        default=None,
        description="Dask scheduler whose workers train on datasets that stay in "
        "their place, such as tls://scheduler:8786.",
    )
    cluster_ca: Path | None = Field(
        default=None, description="Authority of the cluster's certificates, as PEM."
    )
    cluster_cert: Path | None = Field(
        default=None, description="Certificate by which the cluster knows us, as PEM."
    )
    cluster_key: Path | None = Field(
        default=None, description="Key of that certificate, as PEM."
    )
    session_ttl_s: float = Field(
        default=7 * 24 * 3600.0,
        gt=0,
        le=10 * 366 * 24 * 3600.0,
        description="Idle time after which one expires.",
    )
    session_waiting_ttl_s: float = Field(
        default=90 * 24 * 3600.0,
        gt=0,
        le=10 * 366 * 24 * 3600.0,
        description="The same of one that waits for results that were ordered.",
    )
    authentication: bool = Field(
        default=False, description="Ask for keys on loopback too; elsewhere always."
    )
    address: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/?#]+(/[A-Za-z0-9._~-]+)*/?$",
        description="What people open in a browser; printed at the start. Its path is "
        "before each link.",
    )
    demo: bool = Field(
        default=False,
        description="Have a tenant `demo` with four models, and print its key.",
    )
    note: str | None = Field(
        default=None,
        max_length=300,
        description="A line at the foot of each page, such as who answers questions.",
    )
    hosts: list[str] = Field(
        default=[],
        description="Host names to answer to; loopback and `ASKLESS_ADDRESS` always.",
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
        default={}, description="Record systems that may launch us, by names of yours."
    )
    secrets: Path | None = Field(
        default=None,
        description="Folder of the secrets that providers need, a file for each.",
    )
    provider_hosts: list[str] = Field(
        default=[],
        description='Hosts that providers may call, such as `["api.example"]`.',
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
            streams=MOST_STREAMS,
            dataset_bytes=self.limit_dataset_bytes,
            **SHAPES,
        )

    @property
    def site(self) -> str:
        """The address that people open, which those that they sign in at know."""
        assert self.address is not None, "checked with the settings"
        return self.address.rstrip("/")

    @property
    def path(self) -> str:
        """The path of a proxy that the service is below; "" for none."""
        address = "" if self.address is None else self.address
        return urlsplit(address).path.rstrip("/")

    def list_own_hosts(self, *, is_local: bool) -> list[str]:
        """Return the host names to answer to; [] beyond loopback: any.

        The name that people open is one of them, as a proxy passes it on.
        """
        opened = None if self.address is None else urlsplit(self.address).hostname
        is_open = not (is_local or self.hosts)
        return [] if is_open else [*self.hosts, *filter(None, [opened])]

    @property
    def own_origins(self) -> list[str]:
        """The origins whose pages may change something; that of the address too."""
        if self.address is None:
            return self.origins
        return [*self.origins, self.address.removesuffix("/").removesuffix(self.path)]

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
            path = str(self.home_dir / "askless.db")
            # Quoted: ?, # and % mean something in a URL.
            return sa.URL.create("sqlite", database=path).render_as_string()
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
        """Return whether keys are required: not on loopback without sign-in."""
        is_named = not all(map(is_loopback, self.list_own_hosts(is_local=True)))
        must_sign_in = self.oidc_issuer is not None or bool(self.smart_servers)
        return self.authentication or not is_local or is_named or must_sign_in

    def moment_at(self, now: datetime) -> Moment:
        """Return a time with how long sessions may be idle then, or wait."""
        idle, waiting = self.session_ttl_s, self.session_waiting_ttl_s
        return Moment(now, timedelta(seconds=idle), timedelta(seconds=waiting))
