"""Price lists of models. The prices of a list never change."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from askless.app.store.database.rows import StoredRows, insert_once
from askless.app.store.database.sql_types import Id, UtcDateTime
from askless.app.store.database.tables import metadata, tenant_key
from askless.app.store.database.tenancy import owner_values
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
    sa.UniqueConstraint("model_id", "digest"),
)


@dataclass(frozen=True, slots=True)
class StoredPriceList:
    """Other prices for a model's catalogue. Sessions with equal prices share a list.

    `document` is written by `askless.app.documents.prices`; `digest` is its SHA-256.
    """

    id: str
    model_id: str
    digest: str
    document: str
    created_at: datetime


ROWS = StoredRows("price list", "prl", price_lists, StoredPriceList)
make_id, get = ROWS.make_id, ROWS.get


def find_same(db: Transaction, model_id: str, digest: str) -> StoredPriceList | None:
    is_same = sa.and_(
        price_lists.c.model_id == model_id, price_lists.c.digest == digest
    )
    return ROWS.first(db, ROWS.query.where(is_same))


def insert_new(db: Transaction, prices: StoredPriceList) -> StoredPriceList:
    """Store a list unless its model has an equal one; return the stored one."""
    values = {column.name: getattr(prices, column.name) for column in ROWS.columns}
    insert_once(price_lists, db, values | owner_values(db, price_lists))
    stored = find_same(db, prices.model_id, prices.digest)
    assert stored is not None, "lists are never deleted"
    return stored
