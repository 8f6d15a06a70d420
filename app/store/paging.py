"""Pages of rows, newest first; every list of the interface is read through here."""

from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.records import Page

T = TypeVar("T")


def newest(
    db: Session,
    wanted: sa.Select[Any],
    key: tuple[sa.Column[Any], ...],
    limit: int,
    after: str | int | None,
    make: Callable[[Any], T],
) -> Page[T] | None:
    """Return some of the wanted rows; None if there is no row `after`.

    `key` is what rows are ordered by; its last column is their id.
    """
    if after is not None:
        last = db.execute(sa.select(*key).where(key[-1] == after)).first()
        if last is None:
            return None
        start = (sa.literal(x, c.type) for x, c in zip(last, key, strict=True))
        wanted = wanted.where(sa.tuple_(*key) < sa.tuple_(*start))
    order = (column.desc() for column in key)
    rows = db.execute(wanted.order_by(*order).limit(limit + 1)).all()
    items = tuple(make(row) for row in rows[:limit])
    return Page(items, str(rows[limit - 1].id) if len(rows) > limit else None)
