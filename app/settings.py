"""Settings from the environment, prefix ASKLESS_; read by the entry points alone."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


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
    max_body_bytes: int = Field(
        default=2_000_000, ge=1, description="Largest other request body accepted."
    )
    heartbeat_timeout_s: float = Field(
        default=30.0,
        gt=0,
        le=86_400,
        description="Silence after which a worker counts as lost.",
    )
    step_s: float = Field(
        default=2.0,
        gt=0,
        le=3_600,
        description="Boosting between two checkpoints, in seconds.",
    )
    max_attempts: int = Field(
        default=3, ge=1, description="Workers a training may lose before it fails."
    )
    max_refits: int = Field(
        default=16,
        ge=0,
        description="Price lists of one model at which it is trained anew.",
    )
    session_ttl_s: float = Field(
        default=7 * 24 * 3600.0,
        gt=0,
        le=10 * 366 * 24 * 3600.0,
        description="Idle time after which one expires.",
    )

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
