"""Operators use these functions: migrations, readiness and the load."""

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from askless.app.records import Moment
from askless.app.store import workers
from askless.app.store.buying import calls, providers
from askless.app.store.database import clock
from askless.app.store.database import migrate as migrations
from askless.app.store.database.transactions import Transaction

migrate, refuse_other_schema = migrations.migrate, migrations.refuse_other_schema
record_heartbeat, leave = workers.record_heartbeat, workers.delete_worker
read_clock = clock.read_clock
# The calls of so long are counted for metrics.
RECENT = timedelta(minutes=5)
READ_ONLY = sa.text(
    "SELECT pg_is_in_recovery() "
    "OR current_setting('default_transaction_read_only')::boolean"
)


@dataclass(frozen=True, slots=True)
class Load:
    """Counts of jobs, workers, sessions and calls of the whole installation."""

    queued: int
    #: how long the oldest queued job has waited
    queue_age_s: float
    running: int
    workers: int
    open_sessions: int
    #: providers of which a change is named
    changed_providers: int
    #: calls to providers of the last five minutes, by state
    calls: dict[str, int]


def check_readiness(
    engine: sa.Engine, folders: Iterable[Path], least: int
) -> dict[str, bool]:
    """Check database, schema, writability, and free space of at least `least` bytes."""
    folders = [*folders]
    # Only a reader does not wait for the writers of SQLite.
    reader = engine.execution_options(is_read=True)
    try:
        with reader.connect() as connection:
            can_write = not is_read_only(connection)
        is_reachable, is_served = True, migrations.is_served(reader)
    except SQLAlchemyError:
        is_reachable = is_served = can_write = False
    return {
        "database": is_reachable,
        "migrations": is_served,
        "writable": can_write and all(os.access(folder, os.W_OK) for folder in folders),
        "space": all(has_space(folder, least) for folder in folders),
    }


def is_read_only(connection: sa.Connection) -> bool:
    """Return whether a database is read-only, such as a standby."""
    if connection.dialect.name == "postgresql":
        return bool(connection.scalar(READ_ONLY))
    # SQLite opens its file with the first statement, which fails if it can't.
    connection.execute(sa.text("SELECT 1"))
    file = connection.engine.url.database
    return bool(file) and not os.access(str(file), os.W_OK)


def has_space(folder: Path, least: int) -> bool:
    try:
        return shutil.disk_usage(folder).free >= least
    except OSError:
        return False


def count_workers(db: Transaction, timeout_s: float) -> int:
    return workers.count_alive(db, timeout_s)


def count_load(db: Transaction, timeout_s: float, at: Moment) -> Load:
    queued, since, running = workers.count_trainings(db)
    age_s = 0.0 if since is None else (at.now - since).total_seconds()
    return Load(
        queued=queued,
        queue_age_s=max(0.0, age_s),
        running=running,
        workers=workers.count_alive(db, timeout_s),
        open_sessions=workers.count_sessions(db, at.now - at.ttl),
        changed_providers=providers.count_changed(db),
        calls=calls.count_since(db, at.now - RECENT),
    )
