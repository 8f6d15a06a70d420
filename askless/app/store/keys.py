"""Keys and tenants."""

from datetime import datetime

import sqlalchemy as sa

from askless.app.records import DEFAULT_TENANT, StoredKey
from askless.app.store.database.rows import StoredRows, insert_once
from askless.app.store.database.tables import keys, tenants
from askless.app.store.database.tenancy import owner_values
from askless.app.store.database.transactions import Transaction

ROWS = StoredRows("key", "key", keys, StoredKey)
make_id, insert, page = ROWS.make_id, ROWS.insert, ROWS.page
find, get = ROWS.find, ROWS.get
get_locked, change = ROWS.get_locked, ROWS.change
BY_SUBJECT = ROWS.query.where(keys.c.subject == sa.bindparam("key"))


def find_key_of_any_tenant(db: Transaction, key_id: str) -> StoredKey | None:
    """Return a key of any tenant, to identify the tenant of a request."""
    row = db.execute(sa.select(*ROWS.columns).where(keys.c.id == key_id)).first()
    return None if row is None else ROWS.read(row)


def find_person_key(db: Transaction, subject: str) -> StoredKey | None:
    """Return the key of a person of the transaction's tenant, or None.

    `subject` is their provider and its id of them, separated by a space.
    """
    return ROWS.first(db, BY_SUBJECT, subject)


def insert_person(db: Transaction, key: StoredKey) -> StoredKey:
    """Store a person's key unless they have one; return and lock the stored one."""
    values = {column.name: getattr(key, column.name) for column in ROWS.columns}
    insert_once(keys, db, values | owner_values(db, keys))
    assert key.subject is not None
    stored = ROWS.first(db, BY_SUBJECT.with_for_update(), key.subject)
    assert stored is not None, "keys are never deleted"
    return stored


def record_last_use(db: Transaction, key_id: str, now: datetime) -> None:
    """Write the time of a key's last use."""
    db.execute(keys.update().where(keys.c.id == key_id).values(last_used_at=now))


def find_tenant(db: Transaction, name: str) -> str | None:
    tenant_id: str | None = db.scalar(
        sa.select(tenants.c.id).where(tenants.c.name == name)
    )
    return tenant_id


def insert_tenant(db: Transaction, tenant_id: str, name: str, now: datetime) -> str:
    """Store a tenant unless there is one of the name; return the stored one's id."""
    values = {"id": tenant_id, "name": name, "created_at": now}
    insert_once(tenants, db, values | {"is_bootstrapped": True})
    stored = find_tenant(db, name)
    assert stored is not None, "tenants are never deleted"
    return stored


def mark_bootstrapped(db: Transaction) -> bool:
    """Mark that the first key is made; return False if keys were made before."""
    is_new = sa.and_(tenants.c.id == DEFAULT_TENANT, sa.not_(tenants.c.is_bootstrapped))
    change = tenants.update().where(is_new).values(is_bootstrapped=True)
    # No row was changed: an earlier start has marked it.
    if db.execute(change.returning(tenants.c.id)).first() is None:
        return False
    return db.execute(sa.select(keys.c.id).limit(1)).first() is None


def list_retentions(db: Transaction) -> dict[str, int]:
    """Return the days after which closed sessions are erased, by tenant."""
    query = sa.select(tenants.c.id, tenants.c.retention_days)
    rows = db.execute(query.where(tenants.c.retention_days.is_not(None)))
    return {row.id: row.retention_days for row in rows}


def list_tenants(db: Transaction) -> list[tuple[str, str, int | None]]:
    """Return id, name and days of retention of each tenant, by name."""
    query = sa.select(tenants.c.id, tenants.c.name, tenants.c.retention_days)
    return [tuple(row) for row in db.execute(query.order_by(tenants.c.name))]


def set_retention(db: Transaction, tenant_id: str, days: int | None) -> None:
    change = tenants.update().where(tenants.c.id == tenant_id)
    db.execute(change.values(retention_days=days))
