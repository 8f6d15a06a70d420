"""The ledger. Rows are appended and read, never changed."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from askless.app.errors import NoPageError, NotFoundError
from askless.app.records import (
    DEFAULT_TENANT,
    LedgerEntry,
    LedgerFilter,
    LedgerSum,
    Page,
)
from askless.app.store.database.sql_types import Counter, StrictUtc, strict_text
from askless.app.store.database.tables import metadata, sessions
from askless.app.store.database.tenancy import (
    execute,
    is_own,
    is_own_too,
    owner_values,
)
from askless.app.store.database.transactions import Transaction

# Append-only: triggers refuse to change, replace or remove an entry. Charges and misses
# of one feature in a session are numbered from 1; at most one charge stands.
ledger = sa.Table(
    "ledger",
    metadata,
    sa.Column("id", Counter, primary_key=True, autoincrement=True),
    # No foreign key, since every charge would have to check it: the session has one.
    sa.Column(
        "tenant_id", strict_text(40), nullable=False, server_default=DEFAULT_TENANT
    ),
    sa.Column("key_id", strict_text(40)),
    sa.Column("at", StrictUtc, nullable=False),
    sa.Column(
        "session_id", strict_text(40), sa.ForeignKey("sessions.id"), nullable=False
    ),
    sa.Column("feature", strict_text(200), nullable=False),
    sa.Column("group", strict_text(200)),
    sa.Column("kind", strict_text(20), nullable=False),
    sa.Column("amount", Counter, nullable=False),
    sa.Column("unit", strict_text(200), nullable=False),
    # A reversal has the number of what it takes back.
    sa.Column("number", sa.Integer, nullable=False, server_default="1"),
    sa.Column("reverses", Counter, sa.ForeignKey("ledger.id"), unique=True),
    sa.Column("reason", sa.Text),
    sa.Column("provider", strict_text(100)),
    sa.Column("digest", strict_text(64), nullable=False),
    sa.CheckConstraint("kind IN ('charge', 'miss', 'reversal')", name="kind"),
    sa.CheckConstraint("amount >= 0", name="amount_not_negative"),
    sa.CheckConstraint("number >= 1", name="number_positive"),
    sa.CheckConstraint(
        "(kind = 'reversal') = (reverses IS NOT NULL) "
        "AND (kind = 'reversal') = (reason IS NOT NULL)",
        name="reversal_is_explained",
    ),
    sa.UniqueConstraint("session_id", "feature", "kind", "number"),
    sa.Index(None, "tenant_id", "id"),
    sqlite_autoincrement=True,
)

EARLIER = ledger.alias()


def position_of(entry_id: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
    """Return the position of an entry in its session, oldest first, from 1.

    Users see positions: numbers over all sessions would tell a tenant how many charges
    the others have.
    """
    return (
        sa.select(sa.func.count())
        .where(EARLIER.c.session_id == ledger.c.session_id, EARLIER.c.id <= entry_id)
        .scalar_subquery()
    )


COMPUTED = {
    "position": position_of(ledger.c.id),
    "reverses": sa.case(
        (ledger.c.reverses.is_not(None), position_of(ledger.c.reverses))
    ),
    "model_id": sessions.c.model_id,
}
WRITTEN = [name for name in LedgerEntry.__slots__ if name not in COMPUTED]
ENTRIES = sa.select(
    *(
        COMPUTED[name] if name in COMPUTED else ledger.c[name]
        for name in LedgerEntry.__slots__
    )
).join(sessions, sessions.c.id == ledger.c.session_id)
IS_OF_SESSION = sa.and_(
    ledger.c.session_id == sa.bindparam("whose"), is_own_too(ledger)
)
OF_SESSION = ENTRIES.where(IS_OF_SESSION).order_by(ledger.c.id)
# The id in the table of the entry at a position of a session.
ROW_ID = (
    sa.select(ledger.c.id)
    .where(IS_OF_SESSION)
    .order_by(ledger.c.id)
    .offset(sa.bindparam("earlier", type_=sa.Integer))
    .limit(1)
)
# The last digest of a session, and the number of a feature's charges and misses.
LAST = (
    sa.select(
        ledger.c.digest,
        sa.func.count()
        .filter(ledger.c.feature == sa.bindparam("what"), ledger.c.kind != "reversal")
        .over(),
    )
    .where(IS_OF_SESSION)
    .order_by(ledger.c.id.desc())
    .limit(1)
)
APPEND = ledger.insert().inline()
MICROS = 1_000_000


def append(db: Transaction, entry: LedgerEntry) -> None:
    """Append a charge, a miss or a reversal to the entries of a locked session.

    Its position is that of the next; a charge or miss gets its number here. The
    database refuses a second charge of a feature until the first is reversed, and a
    reversal that names no charge.
    """
    keys = {"whose": entry.session_id, "what": entry.feature}
    last = execute(db, LAST, keys).first()
    digest, n_before = ("", 0) if last is None else tuple(last)
    if entry.kind != "reversal":
        entry = replace(entry, number=n_before + 1)
    entry = replace(entry, digest=chain_digest(digest, entry))
    values = {name: getattr(entry, name) for name in WRITTEN} | owner_values(db, ledger)
    if entry.kind == "reversal":
        assert entry.reverses is not None, "what it takes back"
        values["reverses"] = find_row_id(db, entry.session_id, entry.reverses)
    db.execute(APPEND, values)


def chain_digest(before: str, entry: LedgerEntry) -> str:
    """Return the SHA-256 of an entry and of the digest of the one before it, or "".

    Whoever changes an entry afterwards must change all later ones, and the receipt.
    """
    fields = [
        *(before, entry.at.astimezone(UTC).isoformat(timespec="microseconds")),
        *(entry.session_id, entry.feature, entry.group, entry.kind, entry.amount),
        *(entry.unit, entry.number, entry.reverses, entry.reason, entry.provider),
    ]
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def get(db: Transaction, session_id: str, position: int) -> LedgerEntry:
    keys = {"whose": session_id, "earlier": position - 1}
    row = execute(db, OF_SESSION.offset(sa.bindparam("earlier")).limit(1), keys).first()
    if row is None:
        raise NotFoundError("entry")
    return to_entry(row)


def find_row_id(db: Transaction, session_id: str, position: int) -> int | None:
    """Return the id in the table of a session's entry; None: there is none."""
    keys = {"whose": session_id, "earlier": position - 1}
    row_id: int | None = execute(db, ROW_ID, keys).scalar()
    return row_id


def find_reversal(db: Transaction, charge: LedgerEntry) -> LedgerEntry | None:
    entries = list_of_session(db, charge.session_id)
    return next((entry for entry in entries if entry.reverses == charge.position), None)


def list_of_session(db: Transaction, session_id: str) -> tuple[LedgerEntry, ...]:
    """Return every entry of a session, oldest first."""
    rows = execute(db, OF_SESSION, {"whose": session_id})
    return tuple(map(to_entry, rows))


def list_sessions(db: Transaction) -> list[str]:
    """Return the sessions of a tenant that have entries."""
    query = sa.select(ledger.c.session_id).where(is_own(ledger)).distinct()
    return list(execute(db, query.order_by(ledger.c.session_id)).scalars())


def page(
    db: Transaction, limit: int, after: tuple[str, int] | None, filters: LedgerFilter
) -> Page[LedgerEntry]:
    """Return a page of a filter's entries, newest first.

    The page begins after the entry at a position of a session, `after`.
    """
    query = ENTRIES.where(is_own(ledger), *list_conditions(filters))
    if after is not None:
        row_id = find_row_id(db, *after)
        if row_id is None:
            raise NoPageError
        query = query.where(ledger.c.id < row_id)
    rows = execute(db, query.order_by(ledger.c.id.desc()).limit(limit + 1)).all()
    items = tuple(map(to_entry, rows[:limit]))
    return Page(items, items[-1].id if len(rows) > limit else None)


def list_sums(db: Transaction, filters: LedgerFilter) -> tuple[LedgerSum, ...]:
    """Return the sums of a filter's entries for each unit."""
    return sum_grouped(db, filters, sa.literal(""))


def list_sums_by(
    db: Transaction, filters: LedgerFilter, by: str
) -> tuple[LedgerSum, ...]:
    """Return sums for each unit, sorted by "day", "model" or "feature"."""
    columns = {"model": sessions.c.model_id, "feature": ledger.c.feature}
    return sum_grouped(
        db, filters, entry_day_expression(db) if by == "day" else columns[by]
    )


def entry_day_expression(db: Transaction) -> sa.ColumnElement[str]:
    """Return the day of an entry in UTC, as 2026-11-20."""
    if db.dialect == "postgresql":
        return sa.func.to_char(sa.func.timezone("UTC", ledger.c.at), "YYYY-MM-DD")
    return sa.func.substr(ledger.c.at, 1, 10, type_=sa.Text)


def sum_grouped(
    db: Transaction, filters: LedgerFilter, common: sa.ColumnElement[str]
) -> tuple[LedgerSum, ...]:
    """Return sums for each unit, grouped by the expression `common`.

    Whole units and micro-units are summed apart, since SQLite's sums end at 64 bits.
    """
    is_charge = ledger.c.kind != "reversal"
    parts = [ledger.c.amount // MICROS, ledger.c.amount % MICROS]
    groups = common.label("common"), ledger.c.unit
    amounts = (
        sa.func.sum(sa.case((condition, part), else_=0))
        for condition in (is_charge, sa.not_(is_charge))
        for part in parts
    )
    query: sa.Select[Any] = (
        sa.select(*groups, sa.func.count(), *amounts)
        .join_from(ledger, sessions, sessions.c.id == ledger.c.session_id)
        .where(is_own(ledger), *list_conditions(filters))
        .group_by("common", ledger.c.unit)
        .order_by("common", ledger.c.unit)
    )
    return tuple(to_sum(*tuple(row)) for row in execute(db, query))


def to_sum(common: str, unit: str, n_entries: int, *amounts: Any) -> LedgerSum:
    units, micros, units_back, micros_back = map(int, amounts)
    charged, reversed_ = units * MICROS + micros, units_back * MICROS + micros_back
    return LedgerSum(unit, n_entries, charged, reversed_, common)


def to_entry(row: sa.Row[Any]) -> LedgerEntry:
    return LedgerEntry(*tuple(row))


def list_conditions(filters: LedgerFilter) -> Iterator[sa.ColumnElement[bool]]:
    """Yield the conditions of a filter on an entry and its session."""
    equal = {
        sessions.c.model_id: filters.model_id,
        ledger.c.session_id: filters.session_id,
        ledger.c.key_id: filters.key_id,
        ledger.c.unit: filters.unit,
    }
    yield from (c == value for c, value in equal.items() if value is not None)
    if filters.since is not None:
        yield ledger.c.at >= filters.since
    if filters.until is not None:
        yield ledger.c.at < filters.until
