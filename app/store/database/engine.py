"""The engine, and how transactions on it begin."""

import sqlite3
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DisconnectionError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from app.records import Caller
from app.store.database.transactions import Transaction
from app.store.database.turns import Turns

BUSY_TIMEOUT_S = 30.0
# A server out of reach is told as such, not waited for by every request.
CONNECT_WITHIN_S = 5
# Of a process that tells no other number. All stay open: to make one takes longer than
# to answer.
N_CONNECTIONS = 24
# A connection that was used just now is not asked whether it is still there.
ASK_AFTER_S = 2.0
# What is known of a connection, by the pool's words for it.
HAS_TURN, IS_READ, USED_AT = "has_turn", "is_read", "used_at"
# What a connection is told that is to write nothing.
READ_ONLY = {
    "sqlite": {IS_READ: True},
    "postgresql": {IS_READ: True, "postgresql_readonly": True},
}
# For readers in the way of emptying the log; writers wait as long.
EMPTYING_TIMEOUT_MS = 200


def create_engine(url: str, n_connections: int = N_CONNECTIONS) -> sa.Engine:
    """Make an engine that loses no update, and whose errors tell no parameters.

    These hold answers, and errors are logged. `n_connections`: the most at a time.
    """
    address = sa.make_url(url)
    is_sqlite = address.get_backend_name() == "sqlite"
    if is_sqlite and address.database:
        Path(address.database).parent.mkdir(parents=True, exist_ok=True)
    wait = {"timeout": BUSY_TIMEOUT_S} if is_sqlite else {}
    if not is_sqlite and "connect_timeout" not in address.query:
        wait = {"connect_timeout": CONNECT_WITHIN_S}
    engine = sa.create_engine(
        url,
        connect_args=wait,
        hide_parameters=True,
        poolclass=sa.QueuePool,
        pool_size=n_connections,
        max_overflow=0,
    )
    (begin_sqlite if is_sqlite else ask_idle)(engine)
    return engine


def ask_idle(engine: sa.Engine) -> None:
    """Replace connections that were lost while they were idle."""

    @event.listens_for(engine, "checkout")
    def look(connection: Any, entry: ConnectionPoolEntry, _proxy: object) -> None:
        used_at = entry.info.get(USED_AT, time.monotonic())
        if time.monotonic() - used_at > ASK_AFTER_S:
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error as error:
                raise DisconnectionError from error

    @event.listens_for(engine, "checkin")
    def note(_connection: object, entry: ConnectionPoolEntry) -> None:
        entry.info[USED_AT] = time.monotonic()


def begin_sqlite(engine: sa.Engine) -> None:
    """Keep SQLite's driver from beginning transactions by itself.

    Reads begin plain and can't write; writes begin IMMEDIATE, and wait for one another:
    for those of this process in turn, for those of others as SQLite does.
    """
    turns = Turns()

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        for pragma in (
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "foreign_keys=ON",
            # What is erased is overwritten.
            "secure_delete=ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        is_read = connection.get_execution_options().get(IS_READ, False)
        if connection.info.get(IS_READ, False) != is_read:
            # Before BEGIN: with query_only on, BEGIN IMMEDIATE itself is refused.
            connection.exec_driver_sql(f"PRAGMA query_only={int(is_read)}")
            connection.info[IS_READ] = is_read
        if not is_read and not connection.info.get(HAS_TURN):
            if not turns.take(BUSY_TIMEOUT_S):
                busy = sqlite3.OperationalError("database is locked")
                raise OperationalError("BEGIN IMMEDIATE", None, busy)
            connection.info[HAS_TURN] = True
        connection.exec_driver_sql("BEGIN" if is_read else "BEGIN IMMEDIATE")

    @event.listens_for(engine, "checkin")
    def end(_connection: object, entry: ConnectionPoolEntry) -> None:
        # It is committed by now, or rolled back.
        if entry.info.pop(HAS_TURN, False):
            turns.give()


def transaction(
    engine: sa.Engine,
    tenant_id: str | None,
    *,
    caller: Caller | None = None,
    is_read: bool = False,
) -> Transaction:
    """Open a transaction for a block; it connects when it does something.

    It belongs to a tenant, or to the service itself (None).
    `caller` is in whose name its rows are made, and whose limits hold.
    """
    options = READ_ONLY[engine.dialect.name] if is_read else {}
    return Transaction(engine, tenant_id, caller, options)


def empty_log(engine: sa.Engine) -> bool:
    """Empty SQLite's write-ahead log, which has what was erased since; False: in use.

    Whoever reads meanwhile still needs it; then it is to be tried again. A server's
    log is its own affair.
    """
    if engine.dialect.name != "sqlite":
        return True
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={EMPTYING_TIMEOUT_MS}")
        cursor.execute("PRAGMA query_only=0")
        (is_busy, *_) = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        cursor.execute(f"PRAGMA busy_timeout={int(BUSY_TIMEOUT_S * 1000)}")
        cursor.close()
        return not is_busy
    finally:
        connection.close()
