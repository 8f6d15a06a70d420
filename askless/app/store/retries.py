"""Store answers under idempotency keys, to repeat them to the same request."""

from dataclasses import asdict, fields
from datetime import datetime
from hashlib import sha256

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from askless.app.records import StoredAnswer
from askless.app.store.database.sql_types import Id, UtcDateTime
from askless.app.store.database.tables import metadata
from askless.app.store.database.tenancy import execute, is_own, owner_values, tenant_of
from askless.app.store.database.transactions import Transaction

# Answers to requests with an idempotency key. `digest` is the request's; `session_id`
# is the session that the answer shows.
idempotency_keys = sa.Table(
    "idempotency_keys",
    metadata,
    sa.Column("tenant_id", Id, sa.ForeignKey("tenants.id"), primary_key=True),
    sa.Column("key", sa.String(255), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("session_id", Id, index=True),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("headers", sa.JSON, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False, index=True),
)

COLUMNS = [idempotency_keys.c[field.name] for field in fields(StoredAnswer)]
IS_KEY = sa.and_(
    idempotency_keys.c.key == sa.bindparam("key_"), is_own(idempotency_keys)
)
FIND = sa.select(*COLUMNS).where(IS_KEY)
STATUS = idempotency_keys.c.status
INSERTS = {
    "sqlite": sqlite.insert(idempotency_keys)
    .on_conflict_do_nothing()
    .returning(STATUS),
    "postgresql": postgresql.insert(idempotency_keys)
    .on_conflict_do_nothing()
    .returning(STATUS),
}
IS_OF_SESSION = sa.and_(
    idempotency_keys.c.session_id == sa.bindparam("whose"), is_own(idempotency_keys)
)
REMOVE = idempotency_keys.delete().where(IS_OF_SESSION)
LOCK = sa.text("SELECT pg_try_advisory_xact_lock(:lock)")


def lock(db: Transaction, key: str) -> bool:
    """Lock a key until the transaction ends; return False if another request has it.

    SQLite needs no lock, since it has one writer at a time.
    """
    if db.dialect != "postgresql":
        return True
    digest = sha256(f"{tenant_of(db)} {key}".encode()).digest()
    number = int.from_bytes(digest[:8], signed=True)
    return bool(db.execute(LOCK, {"lock": number}).scalar_one())


def find(db: Transaction, key: str) -> StoredAnswer | None:
    row = execute(db, FIND, {"key_": key}).first()
    return None if row is None else StoredAnswer(*tuple(row))


def insert(db: Transaction, answer: StoredAnswer) -> bool:
    """Store an answer unless its key has one; return whether it was stored."""
    statement = INSERTS[db.dialect]
    done = db.execute(statement, asdict(answer) | owner_values(db, idempotency_keys))
    return done.first() is not None


def remove_of_session(db: Transaction, session_id: str) -> None:
    """Remove the answers that show a session, which is locked."""
    execute(db, REMOVE, {"whose": session_id})


def remove_before(db: Transaction, time: datetime) -> int:
    """Remove answers given before a time, of all tenants; return how many."""
    is_old = idempotency_keys.c.created_at < time
    done = db.execute(idempotency_keys.delete().where(is_old))
    return int(done.rowcount)
