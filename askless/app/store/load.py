"""Counts jobs and sessions of all tenants."""

from datetime import datetime

import sqlalchemy as sa

from askless.app.store.database.tables import sessions, trainings
from askless.app.store.database.transactions import Transaction

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
