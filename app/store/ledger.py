"""The ledger: rows are appended and read, never changed."""

from dataclasses import asdict

from sqlalchemy.orm import Session

from app.records import LedgerEntry
from app.store.rows import StoredRows
from app.store.tables import ledger
from app.store.tenancy import made_by, run

ROWS = StoredRows("entry", ledger, LedgerEntry)
page = ROWS.page
APPEND = ledger.insert().inline()


def append(db: Session, entry: LedgerEntry) -> None:
    """Write a charge or a reversal; its id is given by the database, as the last one.

    The database refuses a second one of the same feature.
    """
    values = asdict(entry) | made_by(db, ledger)
    del values["id"]
    db.execute(APPEND, values)


def of_session(db: Session, session_id: str) -> tuple[LedgerEntry, ...]:
    """Return every entry of a session, oldest first."""
    wanted = ROWS.wanted.where(ledger.c.session_id == session_id)
    return tuple(map(ROWS.read, run(db, wanted.order_by(ledger.c.id))))
