"""The ledger: rows are appended and read, never changed."""

from dataclasses import asdict

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.records import LedgerEntry, Page
from app.store.paging import newest
from app.store.tables import columns_of, ledger

COLUMNS = columns_of(ledger, LedgerEntry)
APPEND = ledger.insert().inline()


def append(db: Session, entry: LedgerEntry) -> None:
    """Write a charge or a reversal; its id is given by the database, as the last one.

    The database refuses a second one of the same feature.
    """
    values = asdict(entry)
    del values["id"]
    db.execute(APPEND, values)


def of_session(db: Session, session_id: str) -> tuple[LedgerEntry, ...]:
    """Return every entry of a session, oldest first."""
    wanted = sa.select(*COLUMNS).where(ledger.c.session_id == session_id)
    rows = db.execute(wanted.order_by(ledger.c.id))
    return tuple(LedgerEntry(*row) for row in rows)


def page(db: Session, limit: int, after: int | None) -> Page[LedgerEntry] | None:
    """Return some entries of all sessions, newest first."""
    wanted, key = sa.select(*COLUMNS), (ledger.c.id,)
    return newest(db, wanted, key, limit, after, lambda row: LedgerEntry(*row))
