"""Sessions: rows in and out, and the one statement that charges."""

import secrets
from dataclasses import asdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.records import Page, PredictSession, SessionState
from app.store.paging import newest
from app.store.tables import columns_of, sessions

COLUMNS = columns_of(sessions, PredictSession)


def make_id() -> str:
    return f"ses_{secrets.token_hex(12)}"


def insert(db: Session, made: PredictSession) -> None:
    db.execute(sessions.insert().values(asdict(made)))


def get(db: Session, session_id: str) -> PredictSession | None:
    row = db.execute(sa.select(*COLUMNS).where(sessions.c.id == session_id)).first()
    return None if row is None else read_row(row)


def get_locked(db: Session, session_id: str) -> PredictSession | None:
    """Return a session that no other transaction changes until this one ends."""
    wanted = sa.select(*COLUMNS).where(sessions.c.id == session_id)
    row = db.execute(wanted.with_for_update()).first()
    return None if row is None else read_row(row)


def charge(db: Session, session_id: str, amount: int) -> bool:
    """Charge an amount, unless it would pass the budget; one statement."""
    spent = sessions.c.spent + amount
    change = sessions.update().where(
        sessions.c.id == session_id,
        sa.or_(sessions.c.budget_limit.is_(None), spent <= sessions.c.budget_limit),
    )
    done = db.execute(change.values(spent=spent).returning(sessions.c.id))
    return done.first() is not None


def save(
    db: Session,
    session_id: str,
    *,
    state: SessionState,
    document: str | None,
    now: datetime,
) -> PredictSession:
    """Store how far a locked session has come; its version grows by 1."""
    change = sessions.update().where(sessions.c.id == session_id)
    done = db.execute(
        change.values(
            state=state,
            document=document,
            version=sessions.c.version + 1,
            updated_at=now,
        ).returning(*COLUMNS)
    )
    return read_row(done.one())


def page(db: Session, limit: int, after: str | None) -> Page[PredictSession] | None:
    """Return some sessions, newest first; None if there is no session `after`."""
    key = (sessions.c.created_at, sessions.c.id)
    return newest(db, sa.select(*COLUMNS), key, limit, after, read_row)


def is_model_in_use(db: Session, model_id: str, idle_since: datetime) -> bool:
    """Whether a model has sessions that wait for results or are not yet expired."""
    is_running = sa.and_(sessions.c.state == "open", sessions.c.updated_at > idle_since)
    wanted = sa.select(sessions.c.id).where(
        sessions.c.model_id == model_id,
        sa.or_(sessions.c.state == "waiting", is_running),
    )
    return db.execute(wanted.limit(1)).first() is not None


def read_row(row: Any) -> PredictSession:
    return PredictSession(*row)
