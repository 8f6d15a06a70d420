"""Settings of storage, uploads, workers and sessions."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class ServiceSettings(BaseSettings):
    """Settings of where an installation stores things, and how much it does at once."""

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
