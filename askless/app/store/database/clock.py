"""The database's clock, which all processes share."""

from datetime import datetime, timedelta

import sqlalchemy as sa

from askless.app.store.database.sql_types import UtcDateTime
from askless.app.store.database.transactions import Transaction


def sql_now(db: Transaction, ago_s: float = 0.0) -> sa.ColumnElement[datetime]:
    """Return the database's time, `ago_s` seconds ago, as an expression."""
    if db.dialect == "postgresql":
        return sa.func.clock_timestamp() - timedelta(seconds=ago_s)
    # As the driver writes a time, which has microseconds.
    time = sa.func.strftime("%Y-%m-%d %H:%M:%f000", "now", f"{-ago_s:.3f} seconds")
    return sa.type_coerce(time, UtcDateTime())


def read_clock(db: Transaction) -> datetime:
    """Return the database's time as a value."""
    time: datetime | None = db.scalar(
        sa.select(sa.type_coerce(sql_now(db), UtcDateTime()))
    )
    assert time is not None, "a database knows the time"
    return time
