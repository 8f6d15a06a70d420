"""Reading the ledger; sessions write it."""

from sqlalchemy.orm import Session

from app.documents.bodies import predictions as bodies
from app.errors import NotFoundError
from app.records import LedgerEntry
from app.service.paging import require_page
from app.store import ledger, sessions
from core.table.prices import from_micros


def of_session(db: Session, session_id: str) -> bodies.LedgerPage:
    """Return every entry of a session, oldest first."""
    if sessions.get(db, session_id) is None:
        raise NotFoundError("session", session_id)
    entries = ledger.of_session(db, session_id)
    return bodies.LedgerPage(items=[shown(entry) for entry in entries], next=None)


def page(db: Session, limit: int, after: str | None) -> bodies.LedgerPage:
    """Return some entries of all sessions, newest first."""
    found = require_page(
        ledger.page(db, limit, None if after is None else number(after))
    )
    return bodies.LedgerPage(
        items=[shown(entry) for entry in found.items], next=found.next
    )


def number(text: str) -> int:
    """Return an entry's id; 0, which no entry has, where it is none."""
    is_id = text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if is_id else 0


def shown(entry: LedgerEntry) -> bodies.LedgerEntry:
    return bodies.LedgerEntry(
        id=entry.id,
        at=entry.at,
        session=entry.session_id,
        feature=entry.feature,
        group=entry.group,
        kind=entry.kind,
        amount=from_micros(entry.amount),
        unit=entry.unit,
    )
