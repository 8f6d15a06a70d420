"""Price lists of models. The prices of a list never change."""

from dataclasses import dataclass, replace
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from askless.app.records import Excuse
from askless.app.store.database.kinds import Id, UtcDateTime
from askless.app.store.database.rows import StoredRows
from askless.app.store.database.tables import metadata, tenant_key
from askless.app.store.database.tenancy import owned, owner_values, run
from askless.app.store.database.transactions import Transaction

# Amounts never change once they are written, since open sessions use them.
price_lists = sa.Table(
    "price_lists",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_key(),
    sa.Column("model_id", Id, sa.ForeignKey("models.id"), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("training_id", Id, unique=True),
    # Why there is no training.
    sa.Column("excuse", sa.String(20)),
    sa.UniqueConstraint("model_id", "digest"),
)


@dataclass(frozen=True, slots=True)
class StoredPriceList:
    """Other prices for a model's catalogue. Sessions with equal prices share a list.

    `document` is written by `askless.app.documents.prices`; `digest` is its SHA-256. A
    list has a training of the model at its prices, or an excuse why there is none.
    """

    id: str
    model_id: str
    digest: str
    document: str
    created_at: datetime
    training_id: str | None = None
    excuse: Excuse | None = None


ROWS = StoredRows("price list", "prl", price_lists, StoredPriceList)
make_id, get = ROWS.make_id, ROWS.get
get_locked, change = ROWS.get_locked, ROWS.change
HAS_TRAINING = price_lists.c.training_id.is_not(None)


def find_same(db: Transaction, model_id: str, digest: str) -> StoredPriceList | None:
    """Return the price list of a model with the same digest."""
    is_same = sa.and_(
        price_lists.c.model_id == model_id, price_lists.c.digest == digest
    )
    row = run(db, ROWS.query.where(is_same)).first()
    return None if row is None else ROWS.read(row)


def insert_once(db: Transaction, prices: StoredPriceList) -> StoredPriceList:
    """Store a list unless its model has an equal one; return the stored one.

    If two are stored at once, the second waits for the first.
    """
    values = {column.name: getattr(prices, column.name) for column in ROWS.columns}
    values |= owner_values(db, price_lists)
    if db.dialect == "postgresql":
        db.execute(postgresql.insert(price_lists).on_conflict_do_nothing(), values)
    else:
        db.execute(sqlite.insert(price_lists).on_conflict_do_nothing(), values)
    stored = find_same(db, prices.model_id, prices.digest)
    assert stored is not None, "lists are never deleted"
    return stored


def excuse(db: Transaction, prices: StoredPriceList, reason: Excuse) -> StoredPriceList:
    """Write the reason why a list has no training, unless it has one."""
    if reason != prices.excuse:
        is_list = sa.and_(price_lists.c.id == prices.id, owned(price_lists))
        statement = price_lists.update().where(is_list, sa.not_(HAS_TRAINING))
        run(db, statement.values(excuse=reason))
    return replace(prices, excuse=reason)


def count_refitted(db: Transaction, model_id: str) -> int:
    """Count the price lists of a model that have a training."""
    has_training = sa.and_(price_lists.c.model_id == model_id, HAS_TRAINING)
    query = sa.select(sa.func.count()).where(has_training, owned(price_lists))
    return run(db, query).scalar() or 0


def forget_training(db: Transaction, training_id: str | None) -> None:
    """Detach a training from its list: its model is deleted, a new one may start."""
    is_of_list = sa.and_(price_lists.c.training_id == training_id, owned(price_lists))
    values = {"training_id": None, "excuse": "unavailable"}
    run(db, price_lists.update().where(is_of_list).values(values))
