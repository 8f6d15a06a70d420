"""What a key has: counted for its limits, in the transaction that adds to it."""

from hashlib import sha256

import sqlalchemy as sa

from app.records import FINAL_STATES, Moment
from app.store.database.tables import datasets, sessions, trainings
from app.store.database.tenancy import key_of, owned, run
from app.store.database.transactions import Transaction

KEY: sa.BindParameter[str | None] = sa.bindparam("key", type_=sa.String(40))
BYTES = sa.select(sa.func.sum(datasets.c.n_bytes)).where(
    # Files that stay where they are take no room here.
    owned(datasets),
    datasets.c.key_id == KEY,
    datasets.c.url.is_(None),
)
TRAININGS = sa.select(sa.func.count(trainings.c.id)).where(
    owned(trainings),
    trainings.c.key_id == KEY,
    trainings.c.state.not_in(FINAL_STATES),
)
# Not counted: of many open ones it looks at as many as the limit has.
MOST = sa.bindparam("most", type_=sa.BigInteger)
ENOUGH = (
    sa.select(sessions.c.id)
    .where(owned(sessions), sessions.c.key_id == KEY, sessions.c.state != "closed")
    .offset(MOST - 1)
    .limit(1)
)
IDLE, WAITING, BOTH = (
    sa.bindparam(name, type_=sessions.c.updated_at.type)
    for name in ("idle", "waiting", "both")
)
# Those that are due are another state's since, whatever their row says.
NOT_EXPIRED = sa.or_(
    sa.and_(sessions.c.state == "open", sessions.c.updated_at >= IDLE),
    sa.and_(sessions.c.state == "waiting", sessions.c.updated_at >= WAITING),
    sa.and_(
        sessions.c.state == "open",
        sessions.c.updated_at >= BOTH,
        # Inside a text of the document its quotes would be escaped.
        sessions.c.document.like('%"outcome":"ordered"%'),
    ),
)
ENOUGH_NOW = ENOUGH.where(NOT_EXPIRED)
TURN = sa.text("SELECT pg_advisory_xact_lock(:turn)")


def dataset_bytes(db: Transaction) -> int:
    """Return the size of all datasets of the transaction's key."""
    return int(run(db, BYTES, {"key": key_of(db)}).scalar() or 0)


def count_trainings(db: Transaction) -> int:
    """Count the trainings of the transaction's key that have not ended."""
    return int(run(db, TRAININGS, {"key": key_of(db)}).scalar_one())


def has_sessions(db: Transaction, most: int) -> bool:
    """Whether the transaction's key has at least so many open or waiting sessions.

    By their rows: quick, and never too few.
    """
    return run(db, ENOUGH, {"key": key_of(db), "most": most}).first() is not None


def has_sessions_now(db: Transaction, most: int, at: Moment) -> bool:
    """Say the same, without the sessions that have expired; looks at each row."""
    times = {
        "idle": at.now - at.ttl,
        "waiting": at.now - at.waiting_ttl,
        "both": at.now - at.ttl - at.waiting_ttl,
    }
    found = run(db, ENOUGH_NOW, {"key": key_of(db), "most": most, **times})
    return found.first() is not None


def wait_turn(db: Transaction, what: str) -> None:
    """Be the only one to give more of something to the key, until the transaction ends.

    On SQLite whoever writes is alone.
    """
    if db.dialect == "postgresql":
        digest = sha256(f"{what} of {key_of(db)}".encode()).digest()
        db.execute(TURN, {"turn": int.from_bytes(digest[:8], signed=True)})
