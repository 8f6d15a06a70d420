"""Outcomes: rows in and out, one for a session; and with them what is monitored."""

from dataclasses import asdict, dataclass, fields
from datetime import datetime

import sqlalchemy as sa

from app.records import PredictSession
from app.store.database.tables import outcomes, sessions
from app.store.database.tenancy import made_by, owned, run
from app.store.database.transactions import Transaction


@dataclass(frozen=True, slots=True)
class StoredOutcome:
    """The true label of a case, and what its session said when that was told.

    `chances` are of the model's classes, in their order; `version` is the session's.
    """

    session_id: str
    label: str
    predicted: str
    chances: tuple[float, ...]
    version: int
    at: datetime


COLUMNS = [outcomes.c[one.name] for one in fields(StoredOutcome)]
SESSION = [sessions.c[one.name] for one in fields(PredictSession)]


def find(db: Transaction, session_id: str) -> StoredOutcome | None:
    """Return the outcome of a session."""
    is_its = sa.and_(outcomes.c.session_id == session_id, owned(outcomes))
    row = run(db, sa.select(*COLUMNS).where(is_its)).first()
    return None if row is None else StoredOutcome(*tuple(row))


def put(db: Transaction, made: StoredOutcome) -> None:
    """Store the outcome of a locked session, in place of the one before."""
    is_its = sa.and_(outcomes.c.session_id == made.session_id, owned(outcomes))
    run(db, outcomes.delete().where(is_its))
    db.execute(outcomes.insert(), asdict(made) | made_by(db, outcomes))


def sessions_of(
    db: Transaction, model_id: str, since: datetime, until: datetime, limit: int
) -> list[tuple[PredictSession, StoredOutcome | None]]:
    """Return the sessions of a model that began within a time, oldest first.

    Each with its outcome, where it has been told.
    """
    is_its = sa.and_(
        sessions.c.model_id == model_id,
        sessions.c.created_at >= since,
        sessions.c.created_at < until,
    )
    wanted = (
        sa.select(*SESSION, *COLUMNS)
        .outerjoin_from(sessions, outcomes, outcomes.c.session_id == sessions.c.id)
        .where(owned(sessions), is_its)
        .order_by(sessions.c.created_at)
        .limit(limit)
    )
    found = []
    for row in run(db, wanted):
        its, told = tuple(row)[: len(SESSION)], tuple(row)[len(SESSION) :]
        outcome = None if told[0] is None else StoredOutcome(*told)
        found.append((PredictSession(*its), outcome))
    return found
