"""The tables of the service itself, which belong to no tenant."""

import sqlalchemy as sa

from app.store.kinds import UtcDateTime
from app.store.tables import metadata

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
