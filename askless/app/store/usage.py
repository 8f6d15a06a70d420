"""Count a key's datasets, jobs and sessions, to check them against its limits."""

from hashlib import sha256

import sqlalchemy as sa

from askless.app.records import FINAL_STATES, Moment
from askless.app.store.database.tables import datasets, sessions, trainings
from askless.app.store.database.tenancy import execute, is_own, key_of
from askless.app.store.database.transactions import Transaction

KEY: sa.BindParameter[str | None] = sa.bindparam("key", type_=sa.String(40))
BYTES = sa.select(sa.func.sum(datasets.c.n_bytes)).where(
    # Tables that stay where they are take no space here.
    is_own(datasets),
    datasets.c.key_id == KEY,
    datasets.c.url.is_(None),
)
TRAININGS = sa.select(sa.func.count(trainings.c.id)).where(
    is_own(trainings), trainings.c.key_id == KEY, trainings.c.state.not_in(FINAL_STATES)
)
# Returns a row if there are at least MOST sessions, without counting all.
MOST = sa.bindparam("most", type_=sa.BigInteger)
ENOUGH = (
    sa.select(sessions.c.id)
    .where(is_own(sessions), sessions.c.key_id == KEY, sessions.c.state != "closed")
    .offset(MOST - 1)
    .limit(1)
)
IDLE, WAITING, BOTH = (
    sa.bindparam(name, type_=sessions.c.updated_at.type)
    for name in ("idle", "waiting", "both")
)
# Rows of expired sessions may still say `open` or `waiting`.
NOT_EXPIRED = sa.or_(
    sa.and_(sessions.c.state == "open", sessions.c.updated_at >= IDLE),
    sa.and_(sessions.c.state == "waiting", sessions.c.updated_at >= WAITING),
    sa.and_(
        sessions.c.state == "open",
        sessions.c.updated_at >= BOTH,
        # In a text inside the document, the quotes would be escaped.
        sessions.c.document.like('%"outcome":"ordered"%'),
    ),
)
ENOUGH_NOW = ENOUGH.where(NOT_EXPIRED)
TURN = sa.text("SELECT pg_advisory_xact_lock(:turn)")


def sum_dataset_bytes(db: Transaction) -> int:
    """Return the total size of the key's uploaded datasets."""
    return int(execute(db, BYTES, {"key": key_of(db)}).scalar() or 0)


def count_trainings(db: Transaction) -> int:
    """Count the key's jobs that have not ended."""
    return int(execute(db, TRAININGS, {"key": key_of(db)}).scalar_one())


def has_unclosed_sessions(db: Transaction, most: int) -> bool:
    """Return whether the key has at least `most` sessions that are not closed.

    Expired sessions count too, so the key may have fewer that are in use.
    """
    return execute(db, ENOUGH, {"key": key_of(db), "most": most}).first() is not None


def has_unexpired_sessions(db: Transaction, most: int, at: Moment) -> bool:
    """Return whether the key has at least `most` unexpired sessions.

    It is slower than `has_unclosed_sessions`, since it checks each row.
    """
    times = {
        "idle": at.now - at.ttl,
        "waiting": at.now - at.waiting_ttl,
        "both": at.now - at.ttl - at.waiting_ttl,
    }
    rows = execute(db, ENOUGH_NOW, {"key": key_of(db), "most": most, **times})
    return rows.first() is not None


def lock_limit(db: Transaction, limit: str) -> None:
    """Lock one of the key's limits until the transaction ends.

    SQLite needs no lock, since it has one writer at a time.
    """
    if db.dialect == "postgresql":
        digest = sha256(f"{limit} of {key_of(db)}".encode()).digest()
        db.execute(TURN, {"turn": int.from_bytes(digest[:8], signed=True)})
