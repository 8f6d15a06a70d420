"""Runs: sessions that buy by themselves. Their rows are the queue of the buyer.

A claim is a lease: whoever holds a run sends heartbeats by the database's clock, and
another buyer takes over what has been silent for too long.
"""

from collections.abc import Collection, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from askless.app.records import StoredRun
from askless.app.store.database.clock import sql_now
from askless.app.store.database.sql_types import Id, UtcDateTime
from askless.app.store.database.tables import metadata, sessions, tenant_key
from askless.app.store.database.tenancy import execute, is_own, owner_values
from askless.app.store.database.transactions import Transaction

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("session_id", Id, sa.ForeignKey("sessions.id"), primary_key=True),
    tenant_key(),
    sa.Column("key_id", Id),
    sa.Column("state", sa.String(20), nullable=False),
    # NULL once they were erased.
    sa.Column("keys", sa.JSON(none_as_null=True)),
    sa.Column("webhook", sa.JSON(none_as_null=True)),
    # NULL: a second costs nothing, and calls leave one after the other.
    sa.Column("terms", sa.JSON(none_as_null=True)),
    sa.Column("left_out", sa.JSON, nullable=False),
    sa.Column("holder", sa.String(80)),
    sa.Column("heartbeat_at", UtcDateTime),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("ended_at", UtcDateTime),
    sa.Column("receipt", sa.Text),
    sa.Column("digest", sa.String(64)),
    sa.CheckConstraint(
        "state IN ('buying', 'paused', 'ended', 'released')", name="state"
    ),
    sa.Index("ix_runs_state", "state", "heartbeat_at"),
)

STATES = ("buying", "paused", "ended", "released")
COLUMNS = [runs.c[field.name] for field in fields(StoredRun)]
IS_IT = sa.and_(runs.c.session_id == sa.bindparam("whose"), is_own(runs))
FIND = sa.select(*COLUMNS).where(IS_IT)
LOCK = FIND.with_for_update()
# Nobody carries it out, and no heartbeat is waited for.
FREE: dict[str, object] = {"holder": None, "heartbeat_at": None}
# Nobody carries it out, and its last heartbeat is too old in a while: a call may be on
# its way, also of a run that does not buy any more.
LEFT: dict[str, object] = {"holder": None}


def insert(db: Transaction, run: StoredRun) -> None:
    names = ("session_id", "state", "keys", "webhook", "terms", "left_out")
    values: dict[str, Any] = {name: getattr(run, name) for name in names}
    values["created_at"] = run.created_at
    db.execute(runs.insert(), values | owner_values(db, runs))


def find(
    db: Transaction, session_id: str, query: sa.Select[Any] = FIND
) -> StoredRun | None:
    row = execute(db, query, {"whose": session_id}).first()
    return None if row is None else StoredRun(*tuple(row))


def find_locked(db: Transaction, session_id: str) -> StoredRun | None:
    return find(db, session_id, LOCK)


def change(db: Transaction, session_id: str, **values: object) -> None:
    """Change a locked run."""
    execute(db, runs.update().where(IS_IT).values(**values), {"whose": session_id})


def is_free(db: Transaction, timeout_s: float) -> sa.ColumnElement[bool]:
    """Return the condition that nobody carries a run out, or its holder is silent.

    A silent holder may have left a call on its way, also of a run that was paused,
    handed to a person or erased meanwhile.
    """
    is_left = sa.and_(runs.c.state == "buying", runs.c.holder.is_(None))
    is_silent = runs.c.heartbeat_at < sql_now(db, timeout_s)
    # All states: the index begins with them.
    return sa.or_(is_left, sa.and_(runs.c.state.in_(STATES), is_silent))


def is_any_free(db: Transaction, timeout_s: float) -> bool:
    """Return whether a run of any tenant waits for a buyer."""
    query = sa.select(runs.c.session_id).where(is_free(db, timeout_s)).limit(1)
    return db.execute(query).first() is not None


def claim(db: Transaction, holder: str, timeout_s: float, most: int) -> list[StoredRun]:
    """Claim the oldest runs that nobody holds, or whose holder is silent.

    All tenants share the queue. Two buyers that claim at once get different runs.
    """
    oldest = (
        sa.select(runs.c.session_id)
        .where(is_free(db, timeout_s))
        .order_by(runs.c.created_at)
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    change_holder = (
        runs.update()
        .where(runs.c.session_id.in_(oldest.scalar_subquery()))
        .values(holder=holder, heartbeat_at=sql_now(db))
        .returning(*COLUMNS)
    )
    return [StoredRun(*tuple(row)) for row in db.execute(change_holder)]


def record_heartbeat(db: Transaction, holder: str, held: Collection[str]) -> None:
    """Record that a buyer still carries runs out."""
    is_held = sa.and_(runs.c.holder == holder, runs.c.session_id.in_(held))
    db.execute(runs.update().where(is_held).values(heartbeat_at=sql_now(db)))


def let_go(db: Transaction, holder: str, session_id: str) -> None:
    """Hand back a run, where the buyer still holds it."""
    is_held = sa.and_(IS_IT, runs.c.holder == holder)
    execute(db, runs.update().where(is_held).values(**LEFT), {"whose": session_id})


def leave(db: Transaction, holder: str) -> None:
    """Hand back all the runs that a buyer holds."""
    db.execute(runs.update().where(runs.c.holder == holder).values(**LEFT))


def let_all_go(db: Transaction) -> None:
    """Hand back all the runs of a tenant, whoever holds them."""
    execute(db, runs.update().where(is_own(runs)).values(**FREE))


def wake_expired(db: Transaction, before: Mapping[str, datetime]) -> None:
    """Let the buyer end the runs of all tenants that nobody carries on.

    These were paused or handed to a person, and their session, in a state of `before`,
    was not changed since that moment.
    """
    is_due = (
        sa.and_(sessions.c.state == state, sessions.c.updated_at < moment)
        for state, moment in before.items()
    )
    waking = runs.update().where(
        runs.c.state.in_(("paused", "released")),
        sa.exists().where(sessions.c.id == runs.c.session_id, sa.or_(False, *is_due)),
    )
    db.execute(waking.values(state="buying"))


def list_ended(db: Transaction, session_ids: Collection[str]) -> dict[str, datetime]:
    """Return when runs of any tenant have ended, of those that have."""
    query = sa.select(runs.c.session_id, runs.c.ended_at).where(
        runs.c.session_id.in_(session_ids), runs.c.state == "ended"
    )
    return {row.session_id: row.ended_at for row in db.execute(query)}


def erase(db: Transaction, session_id: str, now: datetime) -> None:
    """End a run and forget its keys, its receipt and whom it tells."""
    values = {"keys": None, "receipt": None, "webhook": None, "state": "ended"}
    change(db, session_id, **values, ended_at=sa.func.coalesce(runs.c.ended_at, now))
