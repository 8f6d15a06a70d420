"""Price lists of models: rows in and out. Nothing in one is ever changed."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from app.records import StoredPriceList
from app.store.rows import StoredRows
from app.store.tables import price_lists

ROWS = StoredRows("price list", price_lists, StoredPriceList)
make_id, get = ROWS.make_id, ROWS.get


def find_same(db: Session, model_id: str, digest: str) -> StoredPriceList | None:
    """Return the list of a model that says the same."""
    is_same = sa.and_(
        price_lists.c.model_id == model_id, price_lists.c.digest == digest
    )
    row = db.execute(ROWS.wanted.where(is_same)).first()
    return None if row is None else ROWS.read(row)


def insert_once(db: Session, made: StoredPriceList) -> StoredPriceList:
    """Store a list unless its model has the same already; return the stored one.

    Of two that are stored at once the second waits for the first.
    """
    values = {column.name: getattr(made, column.name) for column in ROWS.columns}
    if db.get_bind().dialect.name == "postgresql":
        db.execute(postgresql.insert(price_lists).on_conflict_do_nothing(), values)
    else:
        db.execute(sqlite.insert(price_lists).on_conflict_do_nothing(), values)
    found = find_same(db, made.model_id, made.digest)
    assert found is not None, "lists are never deleted"
    return found
