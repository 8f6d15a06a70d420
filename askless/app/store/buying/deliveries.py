"""Webhooks that tell of a run's end, until they arrive or a day is over."""

from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from askless.app.store.database.sql_types import Id, UtcDateTime
from askless.app.store.database.tables import metadata, tenant_key
from askless.app.store.database.tenancy import execute, is_own, owner_values
from askless.app.store.database.transactions import Transaction

deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("session_id", Id, sa.ForeignKey("sessions.id"), primary_key=True),
    tenant_key(),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("next_at", UtcDateTime, nullable=False),
    sa.Column("status", sa.Integer),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.CheckConstraint("state IN ('pending', 'delivered', 'failed')", name="state"),
    sa.Index("ix_deliveries_state", "state", "next_at"),
)


class Delivery(NamedTuple):
    """A webhook that is due."""

    session_id: str
    tenant_id: str
    attempts: int
    created_at: datetime


COLUMNS = [deliveries.c[name] for name in Delivery._fields]
IS_IT = sa.and_(deliveries.c.session_id == sa.bindparam("whose"), is_own(deliveries))


def insert(db: Transaction, session_id: str, now: datetime) -> None:
    values = {"session_id": session_id, "state": "pending", "attempts": 0}
    row = values | {"next_at": now, "created_at": now}
    db.execute(deliveries.insert(), row | owner_values(db, deliveries))


def claim_due(
    db: Transaction, now: datetime, again_at: datetime, most: int
) -> list[Delivery]:
    """Claim due webhooks of all tenants; each is due again at `again_at`."""
    due = (
        sa.select(deliveries.c.session_id)
        .where(deliveries.c.state == "pending", deliveries.c.next_at <= now)
        .order_by(deliveries.c.next_at)
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    postpone = (
        deliveries.update()
        .where(deliveries.c.session_id.in_(due.scalar_subquery()))
        .values(next_at=again_at, attempts=deliveries.c.attempts + 1)
        .returning(*COLUMNS)
    )
    return [Delivery(*tuple(row)) for row in db.execute(postpone)]


def note_attempt(
    db: Transaction,
    delivery: Delivery,
    state: str,
    status: int | None,
    next_at: datetime,
) -> None:
    """Store whether a webhook arrived, is given up, or is sent again at `next_at`."""
    change = deliveries.update().where(IS_IT)
    values = {"state": state, "status": status, "next_at": next_at}
    execute(db, change.values(**values), {"whose": delivery.session_id})
