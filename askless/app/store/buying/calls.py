"""Calls to providers: one row for each request of a run, or of a test."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from askless.app.records import Page, StoredCall
from askless.app.store.buying.runs import runs
from askless.app.store.database.rows import StoredRows
from askless.app.store.database.sql_types import Id, UtcDateTime
from askless.app.store.database.tables import metadata, sessions, tenant_key, tenants
from askless.app.store.database.tenancy import execute, is_own, is_own_too
from askless.app.store.database.transactions import Transaction

calls = sa.Table(
    "calls",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_key(),
    sa.Column("key_id", Id),
    # NULL: a test of the provider.
    sa.Column("session_id", Id, sa.ForeignKey("sessions.id")),
    sa.Column("provider", sa.String(100), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("features", sa.JSON, nullable=False),
    sa.Column("price", sa.BigInteger, nullable=False),
    sa.Column("charged", sa.BigInteger, nullable=False),
    sa.Column("unit", sa.String(200), nullable=False),
    sa.Column("idempotency_key", sa.String(64), nullable=False),
    sa.Column("day", sa.String(10), nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("status", sa.Integer),
    sa.Column("reason", sa.String(200)),
    sa.Column("latency_ms", sa.Integer),
    # NULL once the case was erased.
    sa.Column("before", sa.JSON(none_as_null=True)),
    sa.Column("after", sa.JSON(none_as_null=True)),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("sent_at", UtcDateTime),
    sa.Column("ended_at", UtcDateTime),
    sa.CheckConstraint(
        "state IN ('reserved', 'sent', 'settled', 'missed', 'released', 'in_doubt')",
        name="state",
    ),
    sa.CheckConstraint("charged >= 0", name="charged"),
    sa.UniqueConstraint("session_id", "number"),
    sa.Index(None, "tenant_id", "created_at"),
    sa.Index("ix_calls_provider", "tenant_id", "provider", "state"),
    sa.Index("ix_calls_newest", "tenant_id", "provider", "created_at"),
)

ROWS = StoredRows("call", "cal", calls, StoredCall)
make_id, insert, get = ROWS.make_id, ROWS.insert, ROWS.get
get_locked, change = ROWS.get_locked, ROWS.change
OF_SESSION = ROWS.query.where(
    calls.c.session_id == sa.bindparam("key", type_=sa.String(40))
).order_by(calls.c.number)
ON_THE_WAY = ("reserved", "sent")
# An IN would be written out anew each time.
IS_ON_THE_WAY = sa.or_(*(calls.c.state == state for state in ON_THE_WAY))
N_ON_THE_WAY = sa.select(sa.func.count()).where(
    is_own(calls), calls.c.provider == sa.bindparam("who"), IS_ON_THE_WAY
)


def list_of_session(db: Transaction, session_id: str) -> list[StoredCall]:
    """Return the calls of a session in the order in which they were made."""
    return [ROWS.read(row) for row in execute(db, OF_SESSION, {"key": session_id})]


def count_on_the_way(db: Transaction, provider: str) -> int:
    """Count the calls to a provider that were reserved and have not ended."""
    return int(execute(db, N_ON_THE_WAY, {"who": provider}).scalar() or 0)


# A call that has left may be sent again. Any other leaves for a test, or for a run that
# buys and whose session was neither stopped nor erased.
MAY_LEAVE = sa.or_(
    calls.c.state == "sent",
    calls.c.session_id.is_(None),
    sa.exists().where(
        runs.c.session_id == calls.c.session_id,
        runs.c.state == "buying",
        sessions.c.id == calls.c.session_id,
        sa.or_(sessions.c.state == "open", sessions.c.state == "waiting"),
    ),
)
MARK_SENT = (
    calls.update()
    .where(is_own(calls), calls.c.id == sa.bindparam("which"), IS_ON_THE_WAY, MAY_LEAVE)
    .values(state="sent", sent_at=sa.bindparam("now", type_=UtcDateTime))
    .returning(calls.c.id)
)


def mark_sent(db: Transaction, call_id: str, now: datetime) -> bool:
    """Write that a call leaves now; False where it must not, or has ended already."""
    row = execute(db, MARK_SENT, {"which": call_id, "now": now}).first()
    return row is not None


def list_lost_tests(
    db: Transaction, provider: str, before: datetime
) -> list[StoredCall]:
    """Return the tests of a provider that began before a moment and have not ended."""
    query = ROWS.query.where(
        calls.c.session_id.is_(None),
        calls.c.provider == provider,
        IS_ON_THE_WAY,
        calls.c.created_at < before,
    )
    return [ROWS.read(row) for row in execute(db, query)]


def list_features_on_the_way(db: Transaction, session_id: str) -> set[str]:
    """Return the features that a session is buying just now."""
    query = sa.select(calls.c.features).where(
        is_own(calls), calls.c.session_id == session_id, IS_ON_THE_WAY
    )
    return {name for names in execute(db, query).scalars() for name in names}


def list_ended(db: Transaction, session_ids: Sequence[str]) -> list[StoredCall]:
    """Return the ended calls of sessions of any tenant, in their order."""
    query = sa.select(*ROWS.columns).where(
        calls.c.session_id.in_(session_ids), ~IS_ON_THE_WAY
    )
    rows = db.execute(query.order_by(calls.c.session_id, calls.c.number))
    return [ROWS.read(row) for row in rows]


NEWEST = ROWS.query.where(calls.c.provider == sa.bindparam("who")).order_by(
    calls.c.created_at.desc(), calls.c.id.desc()
)


def list_newest(db: Transaction, provider: str, most: int) -> list[StoredCall]:
    """Return the newest calls to a provider that have ended, the oldest first."""
    query = NEWEST.where(~IS_ON_THE_WAY).limit(most)
    rows = execute(db, query, {"who": provider}).all()
    return [ROWS.read(row) for row in reversed(rows)]


class EndedCalls(NamedTuple):
    """A number of calls of a day that have ended alike, and what they cost."""

    day: str
    state: str
    reason: str | None
    attempts: int
    number: int
    charged: int


def count_days(
    db: Transaction, provider: str, since: str, reasons: Sequence[str]
) -> list[EndedCalls]:
    """Count the ended calls to a provider since a day; other reasons are one."""
    reason = sa.case((calls.c.reason.in_(reasons), calls.c.reason), else_=None)
    attempts = sa.case((calls.c.attempts > 0, 1), else_=0)
    keys = [calls.c.day, calls.c.state, reason, attempts]
    # PostgreSQL's sum of whole numbers is a decimal number.
    charged = sa.cast(sa.func.sum(calls.c.charged), sa.BigInteger)
    query = (
        sa.select(
            *(column.label(f"c{n}") for n, column in enumerate(keys)),
            sa.func.count(),
            charged,
        )
        .where(
            is_own(calls),
            calls.c.provider == provider,
            calls.c.created_at >= datetime.fromisoformat(f"{since}T00:00:00+00:00"),
            calls.c.day >= since,
            ~IS_ON_THE_WAY,
        )
        .group_by("c0", "c1", "c2", "c3")
        .order_by("c0")
    )
    return [EndedCalls(*tuple(row)) for row in execute(db, query)]


def list_called(db: Transaction, since: datetime) -> list[tuple[str, str]]:
    """Return the tenants and names of providers that were called since a moment."""
    query = (
        sa.select(calls.c.tenant_id, calls.c.provider)
        .join_from(tenants, calls, calls.c.tenant_id == tenants.c.id)
        .where(calls.c.created_at >= since)
    )
    return [tuple(row) for row in db.execute(query.distinct())]


def count_since(db: Transaction, since: datetime) -> dict[str, int]:
    """Count the calls of all tenants since a moment, by state."""
    query = (
        sa.select(calls.c.state, sa.func.count())
        .join_from(tenants, calls, calls.c.tenant_id == tenants.c.id)
        .where(calls.c.created_at >= since)
    )
    rows = db.execute(query.group_by(calls.c.state))
    return {row[0]: row[1] for row in rows}


def page(
    db: Transaction, limit: int, after: str | None, **wishes: str | None
) -> Page[StoredCall]:
    """Return a page of calls, newest first; `wishes` are values of columns."""
    conditions = [
        calls.c[name] == value for name, value in wishes.items() if value is not None
    ]
    return ROWS.page(db, limit, after, *conditions)


def erase(db: Transaction, session_id: str) -> None:
    """Forget what the calls of a session did to its prediction."""
    is_it = sa.and_(calls.c.session_id == session_id, is_own_too(calls))
    execute(db, calls.update().where(is_it).values(before=None, after=None))
