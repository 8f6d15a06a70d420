"""Reading the ledger; sessions write it."""

from sqlalchemy.orm import Session

from app.documents.bodies import ledger as bodies
from app.store import ledger, sessions


def of_session(db: Session, session_id: str) -> bodies.LedgerPage:
    """Return every entry of a session, oldest first."""
    sessions.get(db, session_id)
    entries = ledger.of_session(db, session_id)
    return bodies.LedgerPage.model_validate({"items": entries, "next": None})


def page(db: Session, limit: int, after: str | None) -> bodies.LedgerPage:
    """Return some entries of all sessions, newest first."""
    found = ledger.page(db, limit, None if after is None else number(after))
    return bodies.LedgerPage.model_validate(found)


def number(text: str) -> int:
    """Return an entry's id; 0, which no entry has, where it is none."""
    is_id = text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if is_id else 0
