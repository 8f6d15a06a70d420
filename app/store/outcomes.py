"""The true labels of cases, one row a session, and the sessions to monitor."""

from dataclasses import asdict, dataclass, fields
from datetime import datetime

import sqlalchemy as sa

from app.records import PredictSession
from app.store.database.tables import outcomes, sessions
from app.store.database.tenancy import owned, owner_values, run
from app.store.database.transactions import Transaction


@dataclass(frozen=True, slots=True)
class StoredOutcome:
    """The true label of a case, and what its session predicted at that time.

    `chances` has the probability of each class of the model, in the model's order;
    `version` is the session's.
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
    is_of_session = sa.and_(outcomes.c.session_id == session_id, owned(outcomes))
    row = run(db, sa.select(*COLUMNS).where(is_of_session)).first()
    return None if row is None else StoredOutcome(*tuple(row))


def put(db: Transaction, outcome: StoredOutcome) -> None:
    """Store the outcome of a locked session; it replaces an earlier one."""
    is_of_session = sa.and_(
        outcomes.c.session_id == outcome.session_id, owned(outcomes)
    )
    run(db, outcomes.delete().where(is_of_session))
    db.execute(outcomes.insert(), asdict(outcome) | owner_values(db, outcomes))


def sessions_of(
    db: Transaction, model_id: str, since: datetime, until: datetime, limit: int
) -> list[tuple[PredictSession, StoredOutcome | None]]:
    """Return sessions of a model with their outcomes, oldest first.

    They were opened from `since` on and before `until`. The outcome is None until the
    true label is recorded.
    """
    is_of_model = sa.and_(
        sessions.c.model_id == model_id,
        sessions.c.created_at >= since,
        sessions.c.created_at < until,
    )
    query = (
        sa.select(*SESSION, *COLUMNS)
        .outerjoin_from(sessions, outcomes, outcomes.c.session_id == sessions.c.id)
        .where(owned(sessions), is_of_model)
        .order_by(sessions.c.created_at)
        .limit(limit)
    )
    pairs = []
    for row in run(db, query):
        session, outcome = tuple(row)[: len(SESSION)], tuple(row)[len(SESSION) :]
        stored = None if outcome[0] is None else StoredOutcome(*outcome)
        pairs.append((PredictSession(*session), stored))
    return pairs
