"""Signed-in browsers. Each has the key that its pages act with."""

from datetime import datetime

import sqlalchemy as sa

from askless.app.store.database.sql_types import Id, UtcDateTime
from askless.app.store.database.tables import metadata
from askless.app.store.database.transactions import Transaction

# `digest` is the SHA-256 of the browser's cookie, which is stored nowhere.
sign_ins = sa.Table(
    "sign_ins",
    metadata,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("key_id", Id, sa.ForeignKey("keys.id"), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False, index=True),
)

FIND = sa.select(sign_ins.c.key_id).where(
    sign_ins.c.digest == sa.bindparam("of"), sign_ins.c.expires_at > sa.bindparam("now")
)


def insert(
    db: Transaction, digest: str, key_id: str, now: datetime, until: datetime
) -> None:
    values = {"digest": digest, "key_id": key_id}
    db.execute(sign_ins.insert(), values | {"created_at": now, "expires_at": until})


def find_key(db: Transaction, digest: str, now: datetime) -> str | None:
    """Return the id of the key by which a browser is signed in."""
    key_id: str | None = db.execute(FIND, {"of": digest, "now": now}).scalar()
    return key_id


def remove(db: Transaction, digest: str) -> None:
    db.execute(sign_ins.delete().where(sign_ins.c.digest == digest))


def remove_of(db: Transaction, key_id: str) -> None:
    db.execute(sign_ins.delete().where(sign_ins.c.key_id == key_id))


def remove_before(db: Transaction, time: datetime) -> None:
    db.execute(sign_ins.delete().where(sign_ins.c.expires_at <= time))
