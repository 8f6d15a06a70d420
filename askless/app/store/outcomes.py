"""The true labels of cases, one row a session, and the sessions to monitor."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from askless.app.records import PredictSession, SessionState
from askless.app.store.database.tables import models, outcomes, sessions
from askless.app.store.database.tenancy import execute, is_own, owner_values
from askless.app.store.database.transactions import Transaction


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


class ModelCases(NamedTuple):
    """The sessions of some models that have an outcome, known within a span.

    A case is known from the later of two times on: that of its outcome and of its
    session's last change. `since` and `until` are the first that counts, and the first
    that does not; None: any. Of sessions that are not closed those unchanged since
    `open_since` are left out.
    """

    model_ids: Sequence[str]
    since: datetime | None
    until: datetime | None
    open_since: datetime | None


class ClosedCaseRow(NamedTuple):
    """When a case became known, its session's id, and that session's stored state."""

    known_at: datetime
    session_id: str
    state: SessionState


COLUMNS = [outcomes.c[field.name] for field in fields(StoredOutcome)]
SESSION = [sessions.c[field.name] for field in fields(PredictSession)]

# The later of the two.
KNOWN_AT = sa.case(
    (outcomes.c.at > sessions.c.updated_at, outcomes.c.at), else_=sessions.c.updated_at
)


def find(db: Transaction, session_id: str) -> StoredOutcome | None:
    is_of_session = sa.and_(outcomes.c.session_id == session_id, is_own(outcomes))
    row = execute(db, sa.select(*COLUMNS).where(is_of_session)).first()
    return None if row is None else StoredOutcome(*tuple(row))


def insert_or_replace(db: Transaction, outcome: StoredOutcome) -> None:
    """Store the outcome of a locked session; it replaces an earlier one."""
    is_of_session = sa.and_(
        outcomes.c.session_id == outcome.session_id, is_own(outcomes)
    )
    execute(db, outcomes.delete().where(is_of_session))
    db.execute(outcomes.insert(), asdict(outcome) | owner_values(db, outcomes))


def list_sessions(
    db: Transaction, model_id: str, since: datetime, until: datetime, newest: int
) -> list[tuple[PredictSession, StoredOutcome | None]]:
    """Return the newest sessions of a model with their outcomes, oldest first.

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
        .where(is_own(sessions), is_of_model)
        .order_by(sessions.c.created_at.desc())
        .limit(newest)
    )
    return [to_session_and_outcome(row) for row in execute(db, query)][::-1]


def to_session_and_outcome(
    row: sa.Row[Any],
) -> tuple[PredictSession, StoredOutcome | None]:
    session, outcome = tuple(row)[: len(SESSION)], tuple(row)[len(SESSION) :]
    stored = None if outcome[0] is None else StoredOutcome(*outcome)
    return PredictSession(*session), stored


def list_known_cases(
    db: Transaction, cases: ModelCases, newest: int
) -> list[ClosedCaseRow]:
    """Return the newest sessions that may be such cases, newest first.

    A session that is not closed may be among them although it was not changed since,
    since it may have expired. Erased ones are not.
    """
    conditions = [
        *(is_own(sessions), is_own(outcomes), sessions.c.document.is_not(None)),
        sessions.c.model_id.in_(cases.model_ids),
    ]
    joined = sessions.join(outcomes, outcomes.c.session_id == sessions.c.id)
    if cases.since is not None:
        is_open = sessions.c.state != "closed"
        conditions.append(sa.or_(is_open, cases.since <= KNOWN_AT))
        # Joined, since SQLite would look up each session of the tenant among them.
        changed = changed_ids_query(cases).subquery()
        joined = joined.join(changed, changed.c.id == sessions.c.id)
    if cases.until is not None:
        conditions.append(cases.until > KNOWN_AT)
    query = (
        sa.select(KNOWN_AT, sessions.c.id, sessions.c.state)
        .select_from(joined)
        .where(*conditions)
        .order_by(KNOWN_AT.desc(), sessions.c.id.desc())
        .limit(newest)
    )
    return [ClosedCaseRow(*tuple(row)) for row in execute(db, query)]


def changed_ids_query(cases: ModelCases) -> sa.CompoundSelect[Any]:
    """Return a query of the sessions that may be such cases, by what an index has.

    A case is known since a moment if its session or its outcome was changed since.
    """
    is_of_models = sa.and_(is_own(sessions), sessions.c.model_id.in_(cases.model_ids))
    changed = [
        sa.select(sessions.c.id).where(
            is_of_models, sessions.c.state.in_(states), sessions.c.updated_at >= since
        )
        for states, since in (
            (["closed"], cases.since),
            (["open", "waiting"], cases.open_since),
        )
    ]
    with_outcome = sa.select(outcomes.c.session_id).where(
        is_own(outcomes), outcomes.c.at >= cases.since
    )
    return sa.union(*changed, with_outcome)


def list_with_sessions(
    db: Transaction, ids: Sequence[str]
) -> list[tuple[PredictSession, StoredOutcome]]:
    """Return sessions that have an outcome, with it; in no particular order."""
    query = (
        sa.select(*SESSION, *COLUMNS)
        .join_from(sessions, outcomes, outcomes.c.session_id == sessions.c.id)
        .where(is_own(sessions), is_own(outcomes), sessions.c.id.in_(ids))
    )
    pairs = [to_session_and_outcome(row) for row in execute(db, query)]
    return [(session, outcome) for session, outcome in pairs if outcome is not None]


def list_by_references(
    db: Transaction, client_refs: Sequence[str], newest: int
) -> list[tuple[PredictSession, StoredOutcome]]:
    """Return closed sessions of some references with their outcomes, oldest first.

    They are the newest ones that have an outcome, and a model that is not deleted;
    erased ones have no reference.
    """
    query = (
        sa.select(*SESSION, *COLUMNS)
        .join_from(sessions, outcomes, outcomes.c.session_id == sessions.c.id)
        .join(models, models.c.id == sessions.c.model_id)
        .where(models.c.deleted_at.is_(None))
        .where(is_own(sessions), is_own(outcomes), sessions.c.state == "closed")
        .where(sessions.c.client_ref.in_(client_refs))
        .order_by(sessions.c.created_at.desc(), sessions.c.id.desc())
        .limit(newest)
    )
    pairs = [to_session_and_outcome(row) for row in execute(db, query)][::-1]
    return [(session, outcome) for session, outcome in pairs if outcome is not None]


def count_by_name(db: Transaction) -> dict[str, int]:
    """Count closed sessions with an outcome by their model's name; no erased ones."""
    query = (
        sa.select(models.c.name, sa.func.count().label("n_cases"))
        .join_from(sessions, outcomes, outcomes.c.session_id == sessions.c.id)
        .join(models, models.c.id == sessions.c.model_id)
        .where(is_own(sessions), sessions.c.state == "closed")
        .where(sessions.c.document.is_not(None))
        .group_by(models.c.name)
        .order_by(models.c.name)
    )
    return {row.name: row.n_cases for row in execute(db, query)}
