"""Prediction sessions. The statement that changes one also charges it."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from hashlib import sha256

import sqlalchemy as sa

from askless.app.records import Page, PredictSession, SessionFilter
from askless.app.store.database.rows import StoredRows, write_cursor
from askless.app.store.database.tables import (
    challenge_cases,
    models,
    outcomes,
    sessions,
)
from askless.app.store.database.tenancy import (
    execute,
    is_own,
    is_own_too,
    tenant_of,
)
from askless.app.store.database.transactions import Transaction

ROWS = StoredRows("session", "ses", sessions, PredictSession)
make_id, insert = ROWS.make_id, ROWS.insert
find, get, get_locked = ROWS.find, ROWS.get, ROWS.get_locked

# Built once: building a statement takes as long as running it.
IS_IT = sa.and_(sessions.c.id == sa.bindparam("session_id"), is_own(sessions))
AMOUNT = sa.bindparam("amount", type_=sa.BigInteger)
AFTER = sessions.c.spent + AMOUNT
RELEASED = sa.bindparam("released", type_=sa.BigInteger)
HELD = sessions.c.held - RELEASED
FITS = sa.or_(
    sessions.c.budget_limit.is_(None), sessions.c.budget_limit >= AFTER + HELD
)
BY_CHANGE = sessions.c.updated_at, sessions.c.id
IS_LATER = sa.tuple_(*BY_CHANGE) > sa.tuple_(
    sa.bindparam("at", type_=sessions.c.updated_at.type), sa.bindparam("than")
)
TURN = sa.text("SELECT pg_advisory_xact_lock(:turn)")
REFUND = sessions.update().where(IS_IT).values(spent=sessions.c.spent - AMOUNT)
CHANGING = ("state", "document", "version", "updated_at")
# Other statements of the transaction, or this one, may have set these.
SET_BEFORE = ("spent", "held", "budget_limit", "price_list_id")
HOLD = (
    sessions.update()
    .where(IS_IT, FITS)
    .values(held=sessions.c.held + AMOUNT)
    .returning(sessions.c.held)
)
SAVE = (
    sessions.update()
    .where(IS_IT, FITS)
    .values(spent=AFTER, held=HELD, **{name: sa.bindparam(name) for name in CHANGING})
    .returning(*(sessions.c[name] for name in SET_BEFORE))
)


def hold(db: Transaction, session_id: str, amount: int) -> bool:
    """Reserve an amount of a session's budget; False where it does not fit.

    One conditional statement decides, whatever else charges at the same time.
    """
    keys = {"session_id": session_id, "amount": amount, "released": 0}
    return execute(db, HOLD, keys).first() is not None


def set_price_list(db: Transaction, session_id: str, price_list_id: str) -> None:
    """Put a locked session under other prices."""
    ROWS.change(db, session_id, price_list_id=price_list_id)


def refund(db: Transaction, session_id: str, amount: int) -> None:
    """Subtract a reversed charge from what a locked session has spent."""
    execute(db, REFUND, {"session_id": session_id, "amount": amount})


def set_budget(db: Transaction, session_id: str, budget: int | None) -> None:
    """Change the budget of a locked session; the database refuses less than spent."""
    ROWS.change(db, session_id, budget_limit=budget)


def save(
    db: Transaction, session: PredictSession, amount: int = 0, released: int = 0
) -> PredictSession | None:
    """Charge a locked session and store its new state, in one statement.

    `released` is what a call that has ended had reserved. Returns the stored session;
    None, with nothing changed, if the amount exceeds what remains of the budget.
    """
    values = {name: getattr(session, name) for name in CHANGING}
    sums = {"session_id": session.id, "amount": amount, "released": released}
    row = execute(db, SAVE, sums | values).first()
    return None if row is None else replace(session, **row._asdict())


def lock_reference(db: Transaction, client_ref: str) -> None:
    """Lock a reference until the transaction ends, so that one session gets it.

    SQLite needs no lock, since it has one writer at a time.
    """
    if db.dialect == "postgresql":
        digest = sha256(f"{client_ref} of {tenant_of(db)}".encode()).digest()
        db.execute(TURN, {"turn": int.from_bytes(digest[:8], signed=True)})


def erase(db: Transaction, seen: PredictSession, now: datetime) -> None:
    """Close a locked session and erase its case; the amounts stay."""
    session_id, version = seen.id, seen.version + 1
    closed = replace(seen, state="closed", document=None, version=version)
    save(db, replace(closed, updated_at=now))
    ROWS.change(db, session_id, client_ref=None)
    is_of_session = sa.and_(outcomes.c.session_id == session_id, is_own(outcomes))
    execute(db, outcomes.delete().where(is_of_session))
    is_case = sa.and_(
        challenge_cases.c.session_id == session_id, is_own(challenge_cases)
    )
    execute(db, challenge_cases.update().where(is_case).values(session_id=None))


def lock_unerased(db: Transaction, session_ids: Collection[str]) -> set[str]:
    """Lock sessions against erasure; return the ids of those not erased yet."""
    query = sa.select(sessions.c.id).where(
        is_own_too(sessions),
        sessions.c.id.in_(session_ids),
        sessions.c.document.is_not(None),
    )
    return set(execute(db, query.with_for_update(read=True)).scalars())


def lock_unchanged(
    db: Transaction, before: datetime, after: PredictSession | None, limit: int
) -> list[PredictSession]:
    """Lock and return sessions that are not erased, the longest unchanged first.

    They follow the session `after`. Sessions locked by others are skipped.
    """
    query = ROWS.query.where(
        sessions.c.document.is_not(None), sessions.c.updated_at < before
    )
    if after is not None:
        query = query.where(IS_LATER)
    keys = {} if after is None else {"at": after.updated_at, "than": after.id}
    order = query.order_by(*BY_CHANGE).limit(limit)
    rows = execute(db, order.with_for_update(skip_locked=True), keys)
    return [ROWS.read(row) for row in rows]


def page(
    db: Transaction,
    limit: int,
    after: str | None,
    filters: SessionFilter,
    is_due_since: datetime,
) -> Page[PredictSession]:
    """Return a page of sessions, newest first.

    With a filter by state it also has sessions unchanged since `is_due_since`, since
    those may have expired.
    """
    conditions = []
    if filters.client_ref is not None:
        conditions.append(sessions.c.client_ref == filters.client_ref)
    if filters.model is not None:
        is_model = sa.or_(models.c.id == filters.model, models.c.name == filters.model)
        model_ids = sa.select(models.c.id).where(is_model, is_own(models))
        conditions.append(sessions.c.model_id.in_(model_ids))
    if filters.state is not None:
        may_be_due = sessions.c.updated_at < is_due_since
        conditions.append(sa.or_(sessions.c.state == filters.state, may_be_due))
    return ROWS.page(db, limit, after, *conditions)


def write_session_cursor(session: PredictSession) -> str:
    """Return the `next` of a page that ends with a session."""
    return write_cursor(session.created_at, session.id)


def list_by_ids(db: Transaction, ids: Iterable[str]) -> tuple[PredictSession, ...]:
    """Return the sessions that have these ids, erased ones too."""
    unique_ids = sorted(set(ids))
    return ROWS.page(db, len(unique_ids), None, sessions.c.id.in_(unique_ids)).items


def find_referred(db: Transaction, client_ref: str) -> PredictSession | None:
    """Return the newest session with a reference; None without one."""
    items = ROWS.page(db, 1, None, sessions.c.client_ref == client_ref).items
    return next(iter(items), None)


def is_model_in_use(
    db: Transaction, model_id: str, idle_since: datetime, waiting_since: datetime
) -> bool:
    """Return whether a model has an unexpired session that asks or waits."""
    is_running = sa.and_(
        sessions.c.state == "open",
        sessions.c.updated_at > idle_since,
        # In a text inside the document, the quotes would be escaped.
        sessions.c.document.not_like('%"next_feature":null%'),
    )
    is_waiting = sa.and_(
        sessions.c.state == "waiting", sessions.c.updated_at > waiting_since
    )
    is_asked = sa.or_(is_waiting, is_running)
    return ROWS.has_any(db, sessions.c.model_id == model_id, is_asked)
