"""Types of columns that behave alike on SQLite and PostgreSQL."""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa


class UtcDateTime(sa.types.TypeDecorator[datetime]):
    """An aware time in UTC. SQLite stores no time zone."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(
        self, value: datetime | None, dialect: sa.Dialect
    ) -> datetime | None:
        assert value is None or value.tzinfo is not None, "times are aware"
        if value is None or dialect.name != "sqlite":
            return value
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(
        self, value: Any | None, dialect: sa.Dialect
    ) -> datetime | None:
        del dialect
        if value is None:
            return None
        aware: datetime = value if value.tzinfo else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC)


class StrictUtc(UtcDateTime):
    """A UTC time, stored as text on SQLite, whose strict tables have no times."""

    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        return dialect.type_descriptor(
            sa.Text() if dialect.name == "sqlite" else sa.DateTime(timezone=True)
        )

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> Any:
        bound = super().process_bind_param(value, dialect)
        is_text = bound is not None and dialect.name == "sqlite"
        return bound.isoformat(" ", "microseconds") if is_text and bound else bound

    def process_result_value(
        self, value: Any | None, dialect: sa.Dialect
    ) -> datetime | None:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
        return super().process_result_value(time, dialect)


def strict_text(length: int) -> sa.types.TypeEngine[str]:
    """Return a type of text; SQLite's strict tables have no lengths."""
    return sa.String(length).with_variant(sa.Text, "sqlite")


Id = sa.String(40)
# SQLite counts rows only in a column that is plainly INTEGER.
Counter = sa.BigInteger().with_variant(sa.Integer, "sqlite")
