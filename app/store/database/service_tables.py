"""The tables of the service itself, which belong to no tenant."""

import sqlalchemy as sa

from app.store.database.kinds import Id, UtcDateTime
from app.store.database.tables import metadata

# Each worker process with its last sign of life, by the database's clock.
workers = sa.Table(
    "workers",
    metadata,
    sa.Column("id", sa.String(80), primary_key=True),
    sa.Column("started_at", UtcDateTime, nullable=False),
    sa.Column("seen_at", UtcDateTime, nullable=False),
)

# One row, beside Alembic's: the oldest schema whose code can work on this one.
schema_state = sa.Table(
    "schema_state",
    metadata,
    sa.Column("oldest_code", sa.String(32), primary_key=True),
)

# Browsers that are signed in: of a cookie only the SHA-256. A key has a tenant.
sign_ins = sa.Table(
    "sign_ins",
    metadata,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("key_id", Id, sa.ForeignKey("keys.id"), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False, index=True),
)
