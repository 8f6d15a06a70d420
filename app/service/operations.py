"""What operators need: migrations, and whether this process may serve."""

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from app.store import migrate as migrations

migrate = migrations.migrate


def readiness(engine: sa.Engine, *, is_warm: bool) -> dict[str, bool]:
    """Check what requests need: the database, its schema, compiled kernels."""
    # As a reader: on SQLite a plain connection would wait for the writers.
    reader = engine.execution_options(is_read=True)
    try:
        with reader.connect() as connection:
            connection.execute(sa.text("SELECT 1"))
        is_reachable, is_current = True, migrations.is_current(reader)
    except SQLAlchemyError:
        is_reachable = is_current = False
    return {"database": is_reachable, "migrations": is_current, "kernels": is_warm}
