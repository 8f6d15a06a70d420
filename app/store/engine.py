"""The engine, and the one transaction(); it holds the only commit."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.orm import Session

from app.records import Caller
from app.store.tenancy import CALLER, TENANT_ID

BUSY_TIMEOUT_S = 30.0


def create_engine(url: str) -> sa.Engine:
    """Make an engine that loses no update.

    SQLite's driver is kept from beginning transactions by itself: reads begin plain
    and can't write, writes begin IMMEDIATE and so wait for one another.
    """
    address = sa.make_url(url)
    if address.get_backend_name() != "sqlite":
        return sa.create_engine(url, pool_pre_ping=True, hide_parameters=True)
    if address.database:
        Path(address.database).parent.mkdir(parents=True, exist_ok=True)
    # Parameters hold answers, and an error that is logged would tell them.
    engine = sa.create_engine(
        url, connect_args={"timeout": BUSY_TIMEOUT_S}, hide_parameters=True
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        is_read = connection.get_execution_options().get("is_read", False)
        # Before BEGIN: with query_only on, BEGIN IMMEDIATE itself is refused.
        connection.exec_driver_sql(f"PRAGMA query_only={int(is_read)}")
        connection.exec_driver_sql("BEGIN" if is_read else "BEGIN IMMEDIATE")

    return engine


@contextmanager
def transaction(
    engine: sa.Engine,
    tenant_id: str | None,
    *,
    caller: Caller | None = None,
    is_read: bool = False,
) -> Iterator[Session]:
    """Commit what the block did, or nothing of it; connect when it does something.

    It belongs to a tenant, or to the service itself (None; see `app.store.tenancy`).
    `caller` is in whose name its rows are made, and whose limits hold.
    """
    if is_read:
        engine = engine.execution_options(is_read=True)
        if engine.dialect.name == "postgresql":
            engine = engine.execution_options(postgresql_readonly=True)
    info = {TENANT_ID: tenant_id, CALLER: caller}
    with Session(engine, expire_on_commit=False, info=info) as db:
        try:
            yield db
            db.commit()
        except BaseException:
            db.rollback()
            raise
