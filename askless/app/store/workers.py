"""Workers: a row each, with its last heartbeat; and what they and the API have to do.

Heartbeats are by the database's clock. Jobs and sessions are counted over all tenants.
"""

from datetime import datetime

import sqlalchemy as sa

from askless.app.store.database.clock import sql_now
from askless.app.store.database.sql_types import UtcDateTime
from askless.app.store.database.tables import metadata, sessions, trainings
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
    now = sql_now(db)
    is_worker = workers.c.id == holder
    db.execute(workers.delete().where(is_silent(db, FORGOTTEN_AFTER * timeout_s)))
    change = workers.update().where(is_worker).values(seen_at=now)
    if db.execute(change.returning(workers.c.id)).first() is None:
        db.execute(workers.insert().values(id=holder, started_at=now, seen_at=now))


def delete_worker(db: Transaction, holder: str) -> None:
    """Delete the row of a worker that ends."""
    db.execute(workers.delete().where(workers.c.id == holder))


def count_alive(db: Transaction, timeout_s: float) -> int:
    query = sa.select(sa.func.count()).where(~is_silent(db, timeout_s))
    return db.scalar(query) or 0


def is_silent(db: Transaction, timeout_s: float) -> sa.ColumnElement[bool]:
    return workers.c.seen_at < sql_now(db, timeout_s)


QUEUED = trainings.c.state == "queued"


def count_trainings(db: Transaction) -> tuple[int, datetime | None, int]:
    """Return the number of queued jobs, the oldest's time, and the number running."""
    queued = sa.select(sa.func.count(), sa.func.min(trainings.c.created_at))
    n_queued, since = db.execute(queued.where(QUEUED)).one()
    is_held = trainings.c.state.in_(("running", "cancelling"))
    n_held = db.scalar(sa.select(sa.func.count()).where(is_held)) or 0
    return n_queued, since, n_held


def count_sessions(db: Transaction, idle_since: datetime) -> int:
    """Count the open sessions that have not expired."""
    is_open = sa.and_(sessions.c.state == "open", sessions.c.updated_at > idle_since)
    return db.scalar(sa.select(sa.func.count()).where(is_open)) or 0
