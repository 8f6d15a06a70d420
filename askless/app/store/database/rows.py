"""Store, find and list rows of any table as records."""

import re
import secrets
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from askless.app.errors import NoPageError, NotFoundError
from askless.app.records import Page
from askless.app.store.database.tenancy import execute, is_own, owner_values
from askless.app.store.database.transactions import Transaction

T = TypeVar("T")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CURSOR = re.compile(r"[0-9]{1,17}_[A-Za-z0-9_]+")


class StoredRows(Generic[T]):
    """The rows of a table that fulfil all conditions, as records.

    Only rows of the transaction's tenant are read, since statements go through `run`.
    A record's fields name the columns. `noun` is the users' word for one row, and ids
    begin with `prefix`.
    """

    def __init__(
        self,
        noun: str,
        prefix: str,
        table: sa.Table,
        record: type[T],
        *conditions: sa.ColumnElement[bool],
    ) -> None:
        self.noun = noun
        self.prefix = prefix
        self.table = table
        self.record = record
        self.columns = [table.c[field.name] for field in fields(record)]  # type: ignore[arg-type]  # records are dataclasses
        self.query = sa.select(*self.columns).where(is_own(table), *conditions)
        self.by_id = self.query.where(table.c.id == sa.bindparam("key"))
        self.locked = self.by_id.with_for_update()
        self.insertion = table.insert()
        is_row = table.c.id == sa.bindparam("key")
        self.changing = table.update().where(is_row, is_own(table))
        # Lists are in this order.
        self.order = [table.c[k] for k in ("created_at", "id") if k in table.c]

    def make_id(self) -> str:
        return f"{self.prefix}_{secrets.token_hex(12)}"

    def insert(self, db: Transaction, record: T) -> None:
        values = {column.name: getattr(record, column.name) for column in self.columns}
        db.execute(self.insertion, values | owner_values(db, self.table))

    def find(self, db: Transaction, key: str) -> T | None:
        return self.first(db, self.by_id, key)

    def get(self, db: Transaction, key: str) -> T:
        return self.require(self.first(db, self.by_id, key))

    def get_locked(self, db: Transaction, key: str) -> T:
        """Return a row, locked until the transaction ends."""
        return self.require(self.first(db, self.locked, key))

    def change(self, db: Transaction, key: str, **values: object) -> None:
        """Change a locked row."""
        execute(db, self.changing, values | {"key": key})

    def has_any(self, db: Transaction, *conditions: sa.ColumnElement[bool]) -> bool:
        query = sa.select(self.table.c.id).where(is_own(self.table), *conditions)
        return execute(db, query.limit(1)).first() is not None

    def page(
        self,
        db: Transaction,
        limit: int,
        after: str | None,
        *conditions: sa.ColumnElement[bool],
    ) -> Page[T]:
        """Return a page of rows, newest first.

        `after` is the `next` of the page before. It has the values that rows are
        ordered by, so that the row itself may be gone.
        """
        query = self.query.where(*conditions)
        if after is not None:
            start = (
                sa.literal(value, column.type)
                for value, column in zip(read_cursor(after), self.order, strict=True)
            )
            query = query.where(sa.tuple_(*self.order) < sa.tuple_(*start))
        order = (column.desc() for column in self.order)
        # One row more than the page shows whether another page follows.
        rows = execute(db, query.order_by(*order).limit(limit + 1)).all()
        items = tuple(self.read(row) for row in rows[:limit])
        last = rows[limit - 1] if len(rows) > limit else None
        return Page(items, last and write_cursor(last.created_at, last.id))

    def first(
        self, db: Transaction, query: sa.Select[Any], key: str | None = None
    ) -> T | None:
        row = execute(db, query, {"key": key}).first()
        return None if row is None else self.read(row)

    def require(self, record: T | None) -> T:
        if record is None:
            raise NotFoundError(self.noun)
        return record

    def read(self, row: sa.Row[Any]) -> T:
        """Return a row as a record. Lists become tuples, since records are frozen."""
        return self.record(*(tuple(v) if isinstance(v, list) else v for v in row))


def insert_once(table: sa.Table, db: Transaction, values: dict[str, Any]) -> None:
    """Insert a row, unless there is one with its key or another unique value of it.

    If two are inserted at once, the second waits for the first.
    """
    db.execute(insert_into(table, db).on_conflict_do_nothing(), values)


def insert_into(table: sa.Table, db: Transaction) -> Any:
    """Return the insertion of the database's own dialect, which knows conflicts."""
    insert = postgresql.insert if db.dialect == "postgresql" else sqlite.insert
    return insert(table)


def write_cursor(created_at: datetime, key: str) -> str:
    """Return the `next` of a page: its last row's time in microseconds, and id."""
    return f"{(created_at - EPOCH) // timedelta(microseconds=1)}_{key}"


def read_cursor(after: str) -> tuple[datetime, str]:
    """Return time and id from a cursor; raise NoPageError if it is malformed."""
    if not CURSOR.fullmatch(after):
        raise NoPageError
    at, _, key = after.partition("_")
    return EPOCH + timedelta(microseconds=int(at)), key
