"""Run the migrations on one URL."""

import sqlite3

import sqlalchemy as sa
from alembic import context
from sqlalchemy import event, pool

from askless.app.settings.environment import read_settings
from askless.app.store.database.migrate import oldest_code, schema_state
from askless.app.store.schema import all_tables

ADVISORY_LOCK = 830_411


def state_oldest_code(connection: sa.Connection) -> None:
    """Say in the database which code may work on it: what comes later can't know."""
    if not sa.inspect(connection).has_table(schema_state.name):
        return
    revision = context.get_context().get_current_revision()
    oldest = oldest_code(context.script, revision) or revision
    if connection.scalar(sa.select(schema_state.c.oldest_code)) != oldest:
        connection.execute(schema_state.delete())
        connection.execute(schema_state.insert().values(oldest_code=oldest))


def run() -> None:
    url = context.config.attributes.get("url") or read_settings().url
    engine = sa.create_engine(url, poolclass=pool.NullPool)
    is_sqlite = engine.dialect.name == "sqlite"
    if is_sqlite:

        @event.listens_for(engine, "connect")
        def prepare(connection: sqlite3.Connection, _record: object) -> None:
            connection.isolation_level = None
            # Foreign keys off: a batch operation drops and renames whole tables.
            for pragma in (
                "busy_timeout=30000",
                "journal_mode=WAL",
                "foreign_keys=OFF",
            ):
                connection.execute(f"PRAGMA {pragma}")

        @event.listens_for(engine, "begin")
        def begin(connection: sa.Connection) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    with engine.connect() as connection:
        context.configure(
            connection=connection,
            target_metadata=all_tables(),
            render_as_batch=is_sqlite,
            transactional_ddl=True,
        )
        with context.begin_transaction():
            if not is_sqlite:
                connection.exec_driver_sql("SET LOCAL lock_timeout = '5s'")
                # Two containers that start at once must not migrate at once.
                connection.exec_driver_sql(
                    f"SELECT pg_advisory_xact_lock({ADVISORY_LOCK})"
                )
            context.run_migrations()
            state_oldest_code(connection)
            if is_sqlite:
                broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
                assert not broken, f"foreign keys broken: {broken}"
    engine.dispose()


run()
