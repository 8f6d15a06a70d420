"""Providers, what they cost in a day, and what they answered before."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from askless.app.records import StoredProvider
from askless.app.store.database.rows import StoredRows, insert_into, insert_once
from askless.app.store.database.sql_types import Id, UtcDateTime
from askless.app.store.database.tables import metadata, tenant_key
from askless.app.store.database.tenancy import execute, is_own, owner_values
from askless.app.store.database.transactions import Transaction

providers = sa.Table(
    "providers",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_key(),
    sa.Column("key_id", Id),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("document", sa.JSON, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("updated_at", UtcDateTime, nullable=False),
    sa.Column("cools_until", UtcDateTime),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("next_at", UtcDateTime),
    # Changes that the buyer has named; NULL: none, or it has not looked.
    sa.Column("changes", sa.JSON(none_as_null=True)),
    sa.UniqueConstraint("tenant_id", "name"),
)

# The day of its reservation counts a call, also where it ends on the next one.
provider_days = sa.Table(
    "provider_days",
    metadata,
    tenant_key(),
    sa.Column("provider", sa.String(100), nullable=False),
    sa.Column("day", sa.String(10), nullable=False),
    sa.Column("held", sa.BigInteger, nullable=False),
    sa.Column("spent", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "provider", "day"),
    sa.CheckConstraint("held >= 0", name="held"),
    sa.CheckConstraint("spent >= 0", name="spent"),
)

# The values read from an answer, by the digest of its request; erased with the case.
cached_answers = sa.Table(
    "cached_answers",
    metadata,
    tenant_key(),
    sa.Column("provider", sa.String(100), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column(
        "session_id", Id, sa.ForeignKey("sessions.id"), nullable=False, index=True
    ),
    sa.Column("answer", sa.JSON, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "provider", "digest"),
)

ROWS = StoredRows("provider", "prv", providers, StoredProvider)
make_id, insert, page, change = ROWS.make_id, ROWS.insert, ROWS.page, ROWS.change
BY_NAME = ROWS.query.where(providers.c.name == sa.bindparam("key"))
LOCKED = BY_NAME.with_for_update()
ALL = ROWS.query.order_by(providers.c.name)
IS_DAY = sa.and_(
    is_own(provider_days),
    provider_days.c.provider == sa.bindparam("who"),
    provider_days.c.day == sa.bindparam("when"),
)
AMOUNT = sa.bindparam("amount", type_=sa.BigInteger)
RESERVE = (
    provider_days.update()
    .where(
        IS_DAY,
        provider_days.c.spent + provider_days.c.held + AMOUNT
        <= sa.bindparam("ceiling", type_=sa.BigInteger),
    )
    .values(held=provider_days.c.held + AMOUNT)
    .returning(provider_days.c.held)
)
SETTLE = (
    provider_days.update()
    .where(IS_DAY)
    .values(
        held=provider_days.c.held - AMOUNT,
        spent=provider_days.c.spent + sa.bindparam("charged", type_=sa.BigInteger),
    )
)
FORGET_FAILURES = (
    providers.update()
    .where(
        providers.c.name == sa.bindparam("who"),
        providers.c.failures > 0,
        is_own(providers),
    )
    .values(failures=0)
)
NO_CEILING = 2**62


def find(db: Transaction, name: str) -> StoredProvider | None:
    return ROWS.first(db, BY_NAME, name)


def get(db: Transaction, name: str) -> StoredProvider:
    return ROWS.require(find(db, name))


def find_locked(db: Transaction, name: str) -> StoredProvider | None:
    return ROWS.first(db, LOCKED, name)


def get_locked(db: Transaction, name: str) -> StoredProvider:
    return ROWS.require(find_locked(db, name))


def lock(db: Transaction, stored: StoredProvider) -> StoredProvider | None:
    """Lock a provider that was read in the same transaction; None: it is gone.

    SQLite has one writer at a time, so that nothing has changed since.
    """
    return stored if db.dialect == "sqlite" else find_locked(db, stored.name)


def forget_failures(db: Transaction, name: str) -> None:
    """Begin to count a provider's failures anew, where there were some."""
    execute(db, FORGET_FAILURES, {"who": name})


def list_all(db: Transaction) -> list[StoredProvider]:
    """Return the tenant's providers by name."""
    return [ROWS.read(row) for row in execute(db, ALL)]


def insert_new(db: Transaction, provider: StoredProvider) -> bool:
    """Insert a provider; return False if there is one of its name."""
    insert_once(providers, db, asdict(provider) | owner_values(db, providers))
    return get(db, provider.name).id == provider.id


def delete(db: Transaction, name: str) -> None:
    """Delete a provider. What it cost stays; what it answered does not."""
    is_it = sa.and_(providers.c.name == name, is_own(providers))
    execute(db, providers.delete().where(is_it))
    forget_answers(db, name)


def reserve(
    db: Transaction, name: str, day: str, amount: int, ceiling: int | None
) -> bool:
    """Reserve an amount of a provider's day; return False where it passes the ceiling.

    One conditional statement decides, whatever else reserves at the same time.
    """
    keys: dict[str, Any] = {"who": name, "when": day, "amount": amount}
    keys["ceiling"] = NO_CEILING if ceiling is None else ceiling
    row = execute(db, RESERVE, keys).first()
    if row is None and find_day(db, name, day) is None:
        new = {"provider": name, "day": day, "held": 0, "spent": 0}
        insert_once(provider_days, db, new | owner_values(db, provider_days))
        row = execute(db, RESERVE, keys).first()
    return row is not None


def settle(db: Transaction, name: str, day: str, held: int, charged: int) -> None:
    """Release what was reserved of a provider's day, and add what was charged."""
    keys = {"who": name, "when": day, "amount": held, "charged": charged}
    execute(db, SETTLE, keys)


def find_day(db: Transaction, name: str, day: str) -> tuple[int, int] | None:
    """Return what is held and what was spent of a provider's day; None: nothing yet."""
    query = sa.select(provider_days.c.held, provider_days.c.spent).where(IS_DAY)
    row = execute(db, query, {"who": name, "when": day}).first()
    return None if row is None else (row.held, row.spent)


def count_changed(db: Transaction) -> int:
    """Count the providers of all tenants of which a change is named."""
    query = sa.select(sa.func.count()).where(providers.c.changes.is_not(None))
    return db.scalar(query) or 0


def list_held(db: Transaction) -> list[tuple[str, str]]:
    """Return the tenants and names of providers of which something is held."""
    query = sa.select(provider_days.c.tenant_id, provider_days.c.provider).where(
        provider_days.c.held > 0
    )
    return [tuple(row) for row in db.execute(query.distinct())]


def map_days(db: Transaction, day: str) -> dict[str, tuple[int, int]]:
    """Return by provider what is held and was spent of a day."""
    query = sa.select(
        provider_days.c.provider, provider_days.c.held, provider_days.c.spent
    ).where(is_own(provider_days), provider_days.c.day == day)
    return {row.provider: (row.held, row.spent) for row in execute(db, query)}


def find_cached(
    db: Transaction, name: str, digest: str, since: datetime
) -> dict[str, Any] | None:
    """Return what a provider answered to the same request since a moment, or None."""
    query = sa.select(cached_answers.c.answer).where(
        is_own(cached_answers),
        cached_answers.c.provider == name,
        cached_answers.c.digest == digest,
        cached_answers.c.at >= since,
    )
    answer: dict[str, Any] | None = execute(db, query).scalar()
    return answer


def keep_answer(
    db: Transaction,
    name: str,
    digest: str,
    session_id: str,
    answer: dict[str, Any],
    now: datetime,
) -> None:
    """Keep what was read of an answer, instead of what was kept before.

    One statement: two cases with the same key may be answered at the same time.
    """
    kept = {"session_id": session_id, "answer": answer, "at": now}
    row = {"provider": name, "digest": digest, **kept}
    row |= owner_values(db, cached_answers)
    primary = list(cached_answers.primary_key)
    statement = insert_into(cached_answers, db)
    changing = statement.on_conflict_do_update(index_elements=primary, set_=kept)
    db.execute(changing, row)


def forget_session(db: Transaction, session_id: str) -> None:
    """Delete the answers that were bought for a session."""
    forget(db, cached_answers.c.session_id == session_id)


def forget_answers(db: Transaction, name: str) -> None:
    """Delete what a provider answered."""
    forget(db, cached_answers.c.provider == name)


def forget(db: Transaction, condition: sa.ColumnElement[bool]) -> None:
    execute(db, cached_answers.delete().where(condition, is_own(cached_answers)))
