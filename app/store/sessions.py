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

# Made once: an answer runs four statements, and to build them takes as long as two.
IS_IT = sessions.c.id == sa.bindparam("session_id")
GET = sa.select(*COLUMNS).where(IS_IT)
LOCK = GET.with_for_update()
AFTER = sessions.c.spent + sa.bindparam("amount", type_=sa.BigInteger)
FITS = sa.or_(sessions.c.budget_limit.is_(None), sessions.c.budget_limit >= AFTER)
CHARGE = (
    sessions.update().where(IS_IT, FITS).values(spent=AFTER).returning(sessions.c.id)
)
SAVE = (
    sessions.update()
    .where(IS_IT)
    .values(
        state=sa.bindparam("state"),
        document=sa.bindparam("document"),
        version=sessions.c.version + 1,
        updated_at=sa.bindparam("updated_at"),
    )
    .returning(*COLUMNS)
)


def make_id() -> str:
    return f"ses_{secrets.token_hex(12)}"


def insert(db: Session, made: PredictSession) -> None:
    db.execute(sessions.insert(), asdict(made))


def get(db: Session, session_id: str) -> PredictSession | None:
    row = db.execute(GET, {"session_id": session_id}).first()
    return None if row is None else read_row(row)


def get_locked(db: Session, session_id: str) -> PredictSession | None:
    """Return a session that no other transaction changes until this one ends."""
    row = db.execute(LOCK, {"session_id": session_id}).first()
    return None if row is None else read_row(row)


def charge(db: Session, session_id: str, amount: int) -> bool:
    """Charge an amount, unless it would pass the budget; one statement."""
    done = db.execute(CHARGE, {"session_id": session_id, "amount": amount})
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
    values = {"state": state, "document": document, "updated_at": now}
    done = db.execute(SAVE, {"session_id": session_id, **values})
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
