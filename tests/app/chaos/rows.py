"""What a database holds, and how it is kept from being written to."""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from psycopg.errors import DeadlockDetected

from askless.app.store.database.engine import create_engine
from askless.app.store.schema import all_tables


def count_rows(engine: sa.Engine) -> dict[str, int]:
    """Count the rows of each table."""
    with engine.connect() as connection:
        return {
            name: connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            for name, table in all_tables().tables.items()
        }


def violations(engine: sa.Engine) -> list[tuple[object, ...]]:
    """Find sessions whose ledger is not what they have spent, or charged twice."""
    wrong_sums = """
        SELECT s.id, s.spent, COALESCE(SUM(
            CASE l.kind WHEN 'reversal' THEN -l.amount ELSE l.amount END), 0)
        FROM sessions s LEFT JOIN ledger l ON l.session_id = s.id
        GROUP BY s.id, s.spent, s.budget_limit
        HAVING s.spent <> COALESCE(SUM(
            CASE l.kind WHEN 'reversal' THEN -l.amount ELSE l.amount END), 0)
            OR s.spent > s.budget_limit
    """
    charged_twice = """
        SELECT session_id, feature FROM ledger GROUP BY session_id, feature
        HAVING SUM(CASE kind WHEN 'charge' THEN 1 WHEN 'miss' THEN 0 ELSE -1 END) > 1
    """
    with engine.connect() as connection:
        return [
            tuple(row)
            for query in (wrong_sums, charged_twice)
            for row in connection.execute(sa.text(query))
        ]


def lock_all(connection: sa.Connection) -> None:
    """Lock all tables, again where somebody has locked some in another order."""
    names = ", ".join(all_tables().tables)
    while True:
        try:
            with connection.begin_nested():
                connection.exec_driver_sql(f"LOCK TABLE {names} IN EXCLUSIVE MODE")
            return
        except sa.exc.OperationalError as error:
            if not isinstance(error.orig, DeadlockDetected):
                raise


@contextmanager
def kept_from_writing(url: str) -> Iterator[None]:
    """Let no transaction of others change anything while the block lasts."""
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            # On SQLite the transaction alone, which begins as a writing one.
            if engine.dialect.name == "postgresql":
                lock_all(connection)
            yield
    finally:
        engine.dispose()
