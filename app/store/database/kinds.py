"""The kinds of columns: what both engines hold alike."""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa


class UtcDateTime(sa.types.TypeDecorator[datetime]):
    """Aware UTC on both engines; SQLite has no zones of its own."""

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
    """Text on SQLite, whose strict tables know no times."""

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
        told = datetime.fromisoformat(value) if isinstance(value, str) else value
        return super().process_result_value(told, dialect)


def strict_text(length: int) -> sa.types.TypeEngine[str]:
    """Make the type of a text of SQLite's strict tables, which know no lengths."""
    return sa.String(length).with_variant(sa.Text, "sqlite")


Id = sa.String(40)
# SQLite counts rows only in a column that is plainly INTEGER.
Counter = sa.BigInteger().with_variant(sa.Integer, "sqlite")
