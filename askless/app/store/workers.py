"""Workers: a row each, with its last heartbeat by the database's clock."""

import sqlalchemy as sa

from askless.app.store.database.clock import clock
from askless.app.store.database.kinds import UtcDateTime
from askless.app.store.database.tables import metadata
from askless.app.store.database.transactions import Transaction

# Each worker process with its last sign of life, by the database's clock.
workers = sa.Table(
    "workers",
    metadata,
    sa.Column("id", sa.String(80), primary_key=True),
    sa.Column("started_at", UtcDateTime, nullable=False),
    sa.Column("seen_at", UtcDateTime, nullable=False),
)

# Rows of killed workers are deleted after so many heartbeat timeouts.
FORGOTTEN_AFTER = 100


def record_heartbeat(db: Transaction, holder: str, timeout_s: float) -> None:
    """Write a worker's heartbeat; delete workers that have long been silent."""
    now = clock(db)
    is_worker = workers.c.id == holder
    db.execute(workers.delete().where(is_silent(db, FORGOTTEN_AFTER * timeout_s)))
    change = workers.update().where(is_worker).values(seen_at=now)
    if db.execute(change.returning(workers.c.id)).first() is None:
        db.execute(workers.insert().values(id=holder, started_at=now, seen_at=now))


def leave(db: Transaction, holder: str) -> None:
    """Delete the row of a worker that ends."""
    db.execute(workers.delete().where(workers.c.id == holder))


def count_alive(db: Transaction, timeout_s: float) -> int:
    query = sa.select(sa.func.count()).where(~is_silent(db, timeout_s))
    return db.scalar(query) or 0


def is_silent(db: Transaction, timeout_s: float) -> sa.ColumnElement[bool]:
    return workers.c.seen_at < clock(db, timeout_s)
