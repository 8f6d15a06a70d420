"""Make the database engine, and begin transactions on it."""

import sqlite3
import time
from collections import deque
from pathlib import Path
from threading import Lock
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DisconnectionError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from askless.app.records import Caller
from askless.app.store.database.transactions import Transaction


class Turns:
    """A fair lock: the thread that has waited longest gets it next.

    SQLite lets one connection write at a time. The others poll, less and less often, so
    that among many threads one may wait for seconds. Here no thread polls.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.is_taken = False
        self.waiting: deque[Lock] = deque()

    def take(self, timeout_s: float) -> bool:
        """Wait for a turn; return False if none came in time."""
        with self.lock:
            if not self.is_taken:
                self.is_taken = True
                return True
            mine = Lock()
            # Taken here, it makes the second `acquire` below wait until `give` releases
            # it.
            mine.acquire()
            self.waiting.append(mine)
        if mine.acquire(timeout=timeout_s):
            return True
        with self.lock:
            if mine in self.waiting:
                self.waiting.remove(mine)
                return False
        # The turn came just as the wait ended.
        return True

    def give(self) -> None:
        """End a turn; any thread may, not only the one that took it."""
        with self.lock:
            if self.waiting:
                self.waiting.popleft().release()
            else:
                self.is_taken = False


BUSY_TIMEOUT_S = 30.0
# A server out of reach is reported soon, so that requests need not wait.
CONNECT_WITHIN_S = 5
# Connections of a process by default. They stay open, since opening one takes longer
# than answering a request.
N_CONNECTIONS = 24
# A connection that was idle for longer is pinged before it is used.
ASK_AFTER_S = 2.0
# PostgreSQL ends a transaction whose process sends nothing for longer: it may be
# suspended, and hold locks that others wait for.
IDLE_WITHIN_S = 15.0
# Keys of what we know about a connection, in the pool's dictionary for it.
HAS_TURN, IS_READ, USED_AT = "has_turn", "is_read", "used_at"
# Options of a connection that only reads.
READ_ONLY = {
    "sqlite": {IS_READ: True},
    "postgresql": {IS_READ: True, "postgresql_readonly": True},
}
# Emptying the log waits so long for readers, while writers wait too.
EMPTYING_TIMEOUT_MS = 200


def create_engine(url: str, n_connections: int = N_CONNECTIONS) -> sa.Engine:
    """Make an engine with at most `n_connections`, on which no update is lost.

    Its errors show no parameters: these hold answers, and errors are logged.
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
    (begin_sqlite if is_sqlite else limit_idle_transactions)(engine)
    return engine


def limit_idle_transactions(engine: sa.Engine) -> None:
    """Have PostgreSQL end transactions that stand still.

    Connections that were idle are pinged before use, so that lost ones are replaced.
    """

    @event.listens_for(engine, "connect")
    def limit(connection: Any, _record: object) -> None:
        idle_ms = int(IDLE_WITHIN_S * 1000)
        # A setting of the connection, and so outside any transaction.
        connection.autocommit = True
        connection.execute(f"SET idle_in_transaction_session_timeout = {idle_ms}")
        connection.autocommit = False

    @event.listens_for(engine, "checkout")
    def ping(connection: Any, entry: ConnectionPoolEntry, _proxy: object) -> None:
        used_at = entry.info.get(USED_AT, time.monotonic())
        if time.monotonic() - used_at > ASK_AFTER_S:
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error as error:
                # SQLAlchemy then replaces the connection and tries again.
                raise DisconnectionError from error

    @event.listens_for(engine, "checkin")
    def record_use(_connection: object, entry: ConnectionPoolEntry) -> None:
        entry.info[USED_AT] = time.monotonic()


def begin_sqlite(engine: sa.Engine) -> None:
    """Begin SQLite's transactions by our own statements, not by its driver's.

    Readers use BEGIN and can't write. Writers use BEGIN IMMEDIATE and wait for one
    another: in order within this process, by SQLite's polling for other processes.
    """
    turns = Turns()

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        for pragma in (
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "foreign_keys=ON",
            # Erased content is overwritten with zeros.
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
        begin = "BEGIN" if is_read else "BEGIN IMMEDIATE"
        try:
            # Without SQLAlchemy, which would take ten times as long as the statement.
            connection.connection.cursor().execute(begin)
        except sqlite3.OperationalError as error:
            raise OperationalError(begin, None, error) from error

    @event.listens_for(engine, "checkin")
    def end(_connection: object, entry: ConnectionPoolEntry) -> None:
        # By now the transaction is committed or rolled back.
        if entry.info.pop(HAS_TURN, False):
            turns.give()


def transaction(
    engine: sa.Engine,
    tenant_id: str | None,
    *,
    caller: Caller | None = None,
    is_read: bool = False,
) -> Transaction:
    """Return a transaction for a `with` block; it connects at its first statement.

    It belongs to a tenant, or to the service itself (None). New rows get the key of
    `caller`, whose limits apply.
    """
    options = READ_ONLY[engine.dialect.name] if is_read else {}
    return Transaction(engine, tenant_id, caller, options)


def empty_log(engine: sa.Engine) -> bool:
    """Empty SQLite's write-ahead log, which still has erased content.

    Return False if a reader needs the log: try again later. PostgreSQL manages its own.
    """
    if engine.dialect.name != "sqlite":
        return True
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={EMPTYING_TIMEOUT_MS}")
        # The connection may have served a reader before.
        cursor.execute("PRAGMA query_only=0")
        (is_busy, *_) = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        cursor.execute(f"PRAGMA busy_timeout={int(BUSY_TIMEOUT_S * 1000)}")
        cursor.close()
        return not is_busy
    finally:
        connection.close()
