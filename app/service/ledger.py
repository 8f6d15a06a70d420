"""Reading the ledger; sessions write it."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.errors import NotFoundError
from app.records import EntryKind, LedgerEntry, Page
from app.service.paging import require_page
from app.store import ledger, sessions
from core.table.prices import from_micros


@dataclass(frozen=True, slots=True)
class EntryView:
    """A charge or its reversal, money in units."""

    id: int
    at: datetime
    session: str
    feature: str
    group: str | None
    kind: EntryKind
    amount: float
    unit: str


def of_session(db: Session, session_id: str) -> Page[EntryView]:
    """Give every entry of a session, oldest first."""
    if sessions.get(db, session_id) is None:
        raise NotFoundError("session", session_id)
    entries = ledger.of_session(db, session_id)
    return Page(tuple(view_of(entry) for entry in entries), None)


def page(db: Session, limit: int, after: str | None) -> Page[EntryView]:
    """Give some entries of all sessions, newest first."""
    found = require_page(
        ledger.page(db, limit, None if after is None else number(after))
    )
    return Page(tuple(view_of(entry) for entry in found.items), found.next)


def number(text: str) -> int:
    """Return an entry's id; 0, which no entry has, where it is none."""
    is_id = text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if is_id else 0


def view_of(entry: LedgerEntry) -> EntryView:
    return EntryView(
        id=entry.id,
        at=entry.at,
        session=entry.session_id,
        feature=entry.feature,
        group=entry.group,
        kind=entry.kind,
        amount=from_micros(entry.amount),
        unit=entry.unit,
    )
