"""The ledger: rows are appended and read, never changed."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from app.errors import NotFoundError
from app.records import DEFAULT_TENANT, LedgerEntry, LedgerFilter, LedgerSum, Page
from app.store.database.kinds import Counter, StrictUtc, strict_text
from app.store.database.tables import metadata, sessions
from app.store.database.tenancy import made_by, owned, run
from app.store.database.transactions import Transaction

# Append-only: triggers refuse whatever changes, replaces or removes an entry. Of the
# charges of a feature in a session, numbered from 1, at most the last one stands.
ledger = sa.Table(
    "ledger",
    metadata,
    sa.Column("id", Counter, primary_key=True, autoincrement=True),
    # No reference, which every charge would have to check: its session has one.
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
    # Of a reversal that of its charge.
    sa.Column("number", sa.Integer, nullable=False, server_default="1"),
    sa.Column("reverses", Counter, sa.ForeignKey("ledger.id"), unique=True),
    sa.Column("reason", sa.Text),
    sa.CheckConstraint("kind IN ('charge', 'reversal')", name="kind"),
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

FIELDS = [name for name in LedgerEntry.__slots__ if name != "model_id"]
WRITTEN = [name for name in FIELDS if name != "id"]
WANTED = (
    sa.select(*(ledger.c[name] for name in FIELDS), sessions.c.model_id)
    .join(sessions, sessions.c.id == ledger.c.session_id)
    .where(owned(ledger))
)
BY_ID = WANTED.where(ledger.c.id == sa.bindparam("key"))
OF_SESSION = WANTED.where(ledger.c.session_id == sa.bindparam("whose"))
EARLIER = ledger.alias()
N_REVERSALS = (
    sa.select(sa.func.count() + 1)
    .where(
        EARLIER.c.session_id == sa.bindparam("whose"),
        EARLIER.c.feature == sa.bindparam("what"),
        EARLIER.c.kind == "reversal",
    )
    .scalar_subquery()
)
APPEND = ledger.insert().inline()
# A feature has a charge more than it has reversals.
CHARGE = APPEND.values(number=N_REVERSALS)
MICROS = 1_000_000


def append(db: Transaction, entry: LedgerEntry) -> None:
    """Write a charge or a reversal; its id is given by the database, as the last one.

    A charge's number is found here. The database refuses a second charge of a feature
    while the one before stands, and a reversal that is not that of one charge.
    """
    values = {name: getattr(entry, name) for name in WRITTEN} | made_by(db, ledger)
    if entry.kind == "reversal":
        db.execute(APPEND, values)
        return
    del values["number"]
    keys = {"whose": entry.session_id, "what": entry.feature}
    db.execute(CHARGE, values | keys)


def get(db: Transaction, entry_id: int) -> LedgerEntry:
    row = run(db, BY_ID, {"key": entry_id}).first()
    if row is None:
        raise NotFoundError("entry")
    return read(row)


def find_reversal(db: Transaction, entry_id: int) -> LedgerEntry | None:
    """Return the reversal of a charge."""
    row = run(db, WANTED.where(ledger.c.reverses == entry_id)).first()
    return None if row is None else read(row)


def of_session(db: Transaction, session_id: str) -> tuple[LedgerEntry, ...]:
    """Return every entry of a session, oldest first."""
    rows = run(db, OF_SESSION.order_by(ledger.c.id), {"whose": session_id})
    return tuple(map(read, rows))


def page(
    db: Transaction, limit: int, after: int | None, meant: LedgerFilter
) -> Page[LedgerEntry]:
    """Return some entries, newest first, older than the one that `after` names."""
    wanted = WANTED.where(*conditions(meant))
    if after is not None:
        wanted = wanted.where(ledger.c.id < after)
    rows = run(db, wanted.order_by(ledger.c.id.desc()).limit(limit + 1)).all()
    items = tuple(map(read, rows[:limit]))
    return Page(items, str(items[-1].id) if len(rows) > limit else None)


def sums(db: Transaction, meant: LedgerFilter) -> tuple[LedgerSum, ...]:
    """Return what entries come to, by unit."""
    return add_up(db, meant, sa.literal(""))


def sums_by(db: Transaction, meant: LedgerFilter, by: str) -> tuple[LedgerSum, ...]:
    """Return what entries come to by unit, and by "day" (of UTC), "model" or "feature".

    In the order of days, of models' ids or of features' names.
    """
    columns = {"model": sessions.c.model_id, "feature": ledger.c.feature}
    return add_up(db, meant, day_of(db) if by == "day" else columns[by])


def day_of(db: Transaction) -> sa.ColumnElement[str]:
    """Return the day of an entry in UTC, as 2026-11-20."""
    if db.dialect == "postgresql":
        return sa.func.to_char(sa.func.timezone("UTC", ledger.c.at), "YYYY-MM-DD")
    return sa.func.substr(ledger.c.at, 1, 10, type_=sa.Text)


def add_up(
    db: Transaction, meant: LedgerFilter, common: sa.ColumnElement[str]
) -> tuple[LedgerSum, ...]:
    """Return sums of the entries that have something in common, by unit.

    Whole units and the rest are added up apart: SQLite's sums end at 64 bits.
    """
    is_charge = ledger.c.kind == "charge"
    parts = [ledger.c.amount // MICROS, ledger.c.amount % MICROS]
    groups = common.label("common"), ledger.c.unit
    amounts = (
        sa.func.sum(sa.case((condition, part), else_=0))
        for condition in (is_charge, sa.not_(is_charge))
        for part in parts
    )
    wanted: sa.Select[Any] = (
        sa.select(*groups, sa.func.count(), *amounts)
        .join_from(ledger, sessions, sessions.c.id == ledger.c.session_id)
        .where(owned(ledger), *conditions(meant))
        .group_by("common", ledger.c.unit)
        .order_by("common", ledger.c.unit)
    )
    return tuple(read_sum(*tuple(row)) for row in run(db, wanted))


def read_sum(common: str, unit: str, n_entries: int, *amounts: Any) -> LedgerSum:
    units, micros, units_back, micros_back = map(int, amounts)
    charged, given_back = units * MICROS + micros, units_back * MICROS + micros_back
    return LedgerSum(unit, n_entries, charged, given_back, common)


def read(row: sa.Row[Any]) -> LedgerEntry:
    return LedgerEntry(*tuple(row))


def conditions(meant: LedgerFilter) -> Iterator[sa.ColumnElement[bool]]:
    """Yield what a filter asks of an entry and its session."""
    wanted = {
        sessions.c.model_id: meant.model_id,
        ledger.c.session_id: meant.session_id,
        ledger.c.key_id: meant.key_id,
        ledger.c.unit: meant.unit,
    }
    given = ((c, value) for c, value in wanted.items() if value is not None)
    yield from (column == value for column, value in given)
    if meant.since is not None:
        yield ledger.c.at >= meant.since
    if meant.until is not None:
        yield ledger.c.at < meant.until
