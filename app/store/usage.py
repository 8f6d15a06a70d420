"""What a key has: counted for its limits, in the transaction that adds to it."""

import sqlalchemy as sa

from app.records import FINAL_STATES
from app.store.tables import datasets, sessions, trainings
from app.store.tenancy import key_of, owned, run
from app.store.transactions import Transaction

KEY: sa.BindParameter[str | None] = sa.bindparam("key", type_=sa.String(40))
BYTES = sa.select(sa.func.sum(datasets.c.n_bytes)).where(
    owned(datasets), datasets.c.key_id == KEY
)
TRAININGS = sa.select(sa.func.count(trainings.c.id)).where(
    owned(trainings),
    trainings.c.key_id == KEY,
    trainings.c.state.not_in(FINAL_STATES),
)
# Not counted: of many open ones it looks at as many as the limit has.
ENOUGH = (
    sa.select(sessions.c.id)
    .where(owned(sessions), sessions.c.key_id == KEY, sessions.c.state != "closed")
    .offset(sa.bindparam("most") - 1)
    .limit(1)
)


def dataset_bytes(db: Transaction) -> int:
    """Return the size of all datasets of the transaction's key."""
    return int(run(db, BYTES, {"key": key_of(db)}).scalar() or 0)


def count_trainings(db: Transaction) -> int:
    """Count the trainings of the transaction's key that have not ended."""
    return int(run(db, TRAININGS, {"key": key_of(db)}).scalar_one())


def has_sessions(db: Transaction, most: int) -> bool:
    """Whether the transaction's key has at least so many open or waiting sessions."""
    return run(db, ENOUGH, {"key": key_of(db), "most": most}).first() is not None
