"""Sessions: rows in and out; the one statement that changes them charges too."""

from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa

from app.records import Page, PredictSession, SessionFilter
from app.store.database.rows import StoredRows, write_cursor
from app.store.database.tables import models, outcomes, sessions
from app.store.database.tenancy import owned, run
from app.store.database.transactions import Transaction

ROWS = StoredRows("session", "ses", sessions, PredictSession)
make_id, insert = ROWS.make_id, ROWS.insert
get, get_locked = ROWS.get, ROWS.get_locked

# Made once: to build a statement takes as long as to run it.
IS_IT = sa.and_(sessions.c.id == sa.bindparam("session_id"), owned(sessions))
AMOUNT = sa.bindparam("amount", type_=sa.BigInteger)
AFTER = sessions.c.spent + AMOUNT
FITS = sa.or_(sessions.c.budget_limit.is_(None), sessions.c.budget_limit >= AFTER)
BY_CHANGE = sessions.c.updated_at, sessions.c.id
IS_LATER = sa.tuple_(*BY_CHANGE) > sa.tuple_(
    sa.bindparam("at", type_=sessions.c.updated_at.type), sa.bindparam("than")
)
REFUND = sessions.update().where(IS_IT).values(spent=sessions.c.spent - AMOUNT)
CHANGING = ("state", "document", "version", "updated_at")
SAVE = (
    sessions.update()
    .where(IS_IT, FITS)
    .values(spent=AFTER, **{name: sa.bindparam(name) for name in CHANGING})
    .returning(*ROWS.columns)
)
# Of a session that was not locked. A version is given once, and the time says whose.
SAVE_UNCHANGED = SAVE.where(
    sessions.c.version == sa.bindparam("seen_version"),
    sessions.c.updated_at == sa.bindparam("seen_at", type_=sessions.c.updated_at.type),
)


def refund(db: Transaction, session_id: str, amount: int) -> None:
    """Lower what a locked session has spent by a charge that is reversed."""
    run(db, REFUND, {"session_id": session_id, "amount": amount})


def set_budget(db: Transaction, session_id: str, budget: int | None) -> None:
    """Change the budget of a locked session; the database refuses less than spent."""
    ROWS.change(db, session_id, budget_limit=budget)


def save(
    db: Transaction, made: PredictSession, amount: int = 0
) -> PredictSession | None:
    """Charge a locked session, and store how far it has come, under which version.

    One statement. None, and nothing is done, where the amount would pass the budget.
    """
    row = run(db, SAVE, values_of(made, amount)).first()
    return None if row is None else ROWS.read(row)


def save_ahead(
    db: Transaction, before: PredictSession, made: PredictSession, amount: int
) -> PredictSession | None:
    """Do as `save` with a session that is not locked; None too where it has changed."""
    seen = {"seen_version": before.version, "seen_at": before.updated_at}
    row = run(db, SAVE_UNCHANGED, values_of(made, amount) | seen).first()
    return None if row is None else ROWS.read(row)


def values_of(made: PredictSession, amount: int) -> dict[str, object]:
    values = {name: getattr(made, name) for name in CHANGING}
    return {"session_id": made.id, "amount": amount, **values}


def erase(db: Transaction, seen: PredictSession, now: datetime) -> None:
    """Close a locked session and keep nothing of its case; the amounts stay."""
    session_id, version = seen.id, seen.version + 1
    closed = replace(seen, state="closed", document=None, version=version)
    save(db, replace(closed, updated_at=now))
    ROWS.change(db, session_id, client_ref=None)
    is_its = sa.and_(outcomes.c.session_id == session_id, owned(outcomes))
    run(db, outcomes.delete().where(is_its))


def unchanged_since(
    db: Transaction, before: datetime, after: PredictSession | None, limit: int
) -> list[PredictSession]:
    """Lock and return some sessions that have answers, those unchanged longest first.

    They follow `after`. Those that others lock are left out.
    """
    wanted = ROWS.wanted.where(
        sessions.c.document.is_not(None), sessions.c.updated_at < before
    )
    if after is not None:
        wanted = wanted.where(IS_LATER)
    keys = {} if after is None else {"at": after.updated_at, "than": after.id}
    order = wanted.order_by(*BY_CHANGE).limit(limit)
    rows = run(db, order.with_for_update(skip_locked=True), keys)
    return [ROWS.read(row) for row in rows]


def page(
    db: Transaction,
    limit: int,
    after: str | None,
    meant: SessionFilter,
    is_due_since: datetime,
) -> Page[PredictSession]:
    """Return some sessions, newest first, with those that may be due for a state."""
    wanted = []
    if meant.client_ref is not None:
        wanted.append(sessions.c.client_ref == meant.client_ref)
    if meant.model is not None:
        is_it = sa.or_(models.c.id == meant.model, models.c.name == meant.model)
        its = sa.select(models.c.id).where(is_it, owned(models))
        wanted.append(sessions.c.model_id.in_(its))
    if meant.state is not None:
        may_be_due = sessions.c.updated_at < is_due_since
        wanted.append(sa.or_(sessions.c.state == meant.state, may_be_due))
    return ROWS.page(db, limit, after, *wanted)


def cursor(session: PredictSession) -> str:
    """Return what a page that ends with a session says for the next one."""
    return write_cursor(session.created_at, session.id)


def is_model_in_use(
    db: Transaction,
    model_ids: list[str],
    idle_since: datetime,
    waiting_since: datetime,
) -> bool:
    """Whether models have sessions with a question or results to come, not expired."""
    is_running = sa.and_(
        sessions.c.state == "open",
        sessions.c.updated_at > idle_since,
        # Inside a text of the document its quotes would be escaped.
        sessions.c.document.not_like('%"next_feature":null%'),
    )
    is_waiting = sa.and_(
        sessions.c.state == "waiting", sessions.c.updated_at > waiting_since
    )
    is_asked = sa.or_(is_waiting, is_running)
    return ROWS.has_any(db, sessions.c.model_id.in_(model_ids), is_asked)
