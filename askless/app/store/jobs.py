"""Jobs, their events and checkpoints. The rows of jobs are the queue.

A job's row alone says its state. A transaction changes or locks it before it writes
events or checkpoints. Heartbeats are written and compared by the database's clock,
which all workers share.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from askless.app.records import JobEvent, StoredJob, TrainingState
from askless.app.store.database.clock import sql_now
from askless.app.store.database.rows import StoredRows
from askless.app.store.database.sql_types import Id, UtcDateTime
from askless.app.store.database.tables import metadata, trainings
from askless.app.store.database.tenancy import execute, is_own
from askless.app.store.database.transactions import Transaction


def training_key() -> sa.Column[str]:
    """Make the first column of rows that belong to a job and are deleted with it."""
    key = sa.ForeignKey("trainings.id", ondelete="CASCADE")
    return sa.Column("training_id", Id, key, primary_key=True)


# The rounds of a training so far: a row for each checkpoint of each part.
checkpoints = sa.Table(
    "checkpoints",
    metadata,
    training_key(),
    sa.Column("part", sa.Integer, primary_key=True),
    sa.Column("first_round", sa.Integer, primary_key=True),
    sa.Column("rounds", sa.Text, nullable=False),
    # A hash of how they were grown; NULL in rows of code that did not know it.
    sa.Column("recipe", sa.String(64)),
)

training_events = sa.Table(
    "training_events",
    metadata,
    training_key(),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Column("type", sa.String(40), nullable=False),
    sa.Column("data", sa.JSON, nullable=False),
)

ROWS = StoredRows("training", "trn", trainings, StoredJob)
change, find, get_locked = ROWS.change, ROWS.find, ROWS.get_locked
#: The nouns that users know: a training makes a model, a job applies one, and a shadow
#: replays a log.
TRAININGS = StoredRows(
    "training", "trn", trainings, StoredJob, trainings.c.kind == "train"
)
IS_OF_MODEL = trainings.c.kind.not_in(("train", "shadow"))
JOBS = StoredRows("job", "job", trainings, StoredJob, IS_OF_MODEL)
SHADOWS = StoredRows(
    "shadow", "shd", trainings, StoredJob, trainings.c.kind == "shadow"
)
# Jobs whose events one query reads; SQLite takes no more than 1,000 conditions.
AT_A_TIME = 500
IS_QUEUED = trainings.c.state == "queued"
IS_HELD = trainings.c.state.in_(("running", "cancelling"))


def enqueue(db: Transaction, job: StoredJob, now: datetime) -> None:
    """Store a job, which puts it into the queue."""
    ROWS.insert(db, job)
    add_event(db, job.id, "queued", now, job.share)


def is_any_queued(db: Transaction) -> bool:
    """Return whether a job of any tenant is queued."""
    return (
        db.execute(sa.select(trainings.c.id).where(IS_QUEUED).limit(1)).first()
        is not None
    )


def is_training_begun(db: Transaction, name: str) -> bool:
    """Return whether a training of this name was started and has not failed."""
    conditions = trainings.c.name == name, trainings.c.state != "failed"
    return TRAININGS.has_any(db, *conditions)


def is_learning(db: Transaction, name: str) -> bool:
    """Return whether a job that has not ended learns with a model of a name."""
    is_of_name = trainings.c.kind == "learn", trainings.c.name == name
    return JOBS.has_any(db, *is_of_name, sa.or_(IS_QUEUED, IS_HELD))


def count_ahead(db: Transaction, job: StoredJob) -> int:
    """Count the jobs of all tenants that are claimed before a queued one."""
    mine = (sa.literal(job.created_at, trainings.c.created_at.type), job.id)
    is_older = sa.tuple_(trainings.c.created_at, trainings.c.id) < sa.tuple_(*mine)
    query = sa.select(sa.func.count()).select_from(trainings)
    return db.scalar(query.where(IS_QUEUED, is_older)) or 0


def claim(db: Transaction, holder: str) -> StoredJob | None:
    """Claim the oldest queued job for a worker, as its next attempt, in one statement.

    All tenants share the queue. Two workers that claim at once get two jobs: PostgreSQL
    skips locked rows, and SQLite lets one transaction write at a time.
    """
    oldest = (
        sa.select(trainings.c.id)
        .where(IS_QUEUED)
        .order_by(trainings.c.created_at, trainings.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    now = sql_now(db)
    change = trainings.update().where(trainings.c.id == oldest.scalar_subquery())
    done = db.execute(
        change.values(
            state="running",
            attempt=trainings.c.attempt + 1,
            holder=holder,
            heartbeat_at=now,
            started_at=sa.func.coalesce(trainings.c.started_at, now),
        ).returning(*ROWS.columns)
    )
    row = done.first()
    return None if row is None else ROWS.read(row)


def record_heartbeat(db: Transaction, claimed: StoredJob) -> bool:
    """Record a heartbeat; return whether the attempt still holds the job."""
    change = trainings.update().where(
        is_own(trainings),
        trainings.c.id == claimed.id,
        trainings.c.attempt == claimed.attempt,
        IS_HELD,
    )
    done = execute(
        db, change.values(heartbeat_at=sql_now(db)).returning(trainings.c.id)
    )
    return done.first() is not None


def list_silent_tenants(db: Transaction, timeout_s: float) -> list[str]:
    """Return the tenants that have jobs of silent workers."""
    query = sa.select(trainings.c.tenant_id).where(silent_condition(db, timeout_s))
    return list(db.scalars(query.distinct()))


def is_overdue(db: Transaction, claimed: StoredJob, most_s: float) -> bool:
    """Return whether a job was first started more than `most_s` seconds ago."""
    is_job = trainings.c.id == claimed.id
    return ROWS.has_any(db, is_job, trainings.c.started_at < sql_now(db, most_s))


def lock_silent(db: Transaction, timeout_s: float) -> list[StoredJob]:
    """Lock and return a tenant's jobs of silent workers; skip those locked already."""
    query = ROWS.query.where(silent_condition(db, timeout_s))
    rows = execute(db, query.with_for_update(skip_locked=True))
    return [ROWS.read(row) for row in rows]


def silent_condition(db: Transaction, timeout_s: float) -> sa.ColumnElement[bool]:
    """Return the condition that a job's worker has sent no heartbeat in time."""
    return sa.and_(IS_HELD, trainings.c.heartbeat_at < sql_now(db, timeout_s))


def requeue(db: Transaction, job: StoredJob, kind: str, now: datetime) -> None:
    """Put a locked job back into the queue, at its old place."""
    change(db, job.id, state="queued", holder=None, heartbeat_at=None)
    more = {"state": "queued", "attempt": job.attempt}
    add_event(db, job.id, kind, now, job.share, **more)


def end_job(
    db: Transaction, job: StoredJob, state: TrainingState, now: datetime, **values: Any
) -> None:
    """Write the final state of a locked job, and delete its checkpoints."""
    change(db, job.id, state=state, finished_at=now, **values)
    is_of_job = checkpoints.c.training_id == job.id
    db.execute(checkpoints.delete().where(is_of_job))
    share = values.get("share", job.share)
    shown = {key: values[key] for key in ("model_id", "error") if key in values}
    add_event(db, job.id, state, now, share, **shown)


def cancel_job(db: Transaction, job: StoredJob, now: datetime) -> None:
    """Cancel a locked job: at once if queued; if running, its worker is to stop."""
    if job.state == "queued":
        end_job(db, job, "cancelled", now)
    elif job.state == "running":
        change(db, job.id, state="cancelling")
        add_event(db, job.id, "cancelling", now, job.share)


def is_cancelling(db: Transaction, claimed: StoredJob) -> bool:
    is_job = trainings.c.id == claimed.id
    return ROWS.has_any(db, is_job, trainings.c.state == "cancelling")


def delete(db: Transaction, job: StoredJob) -> None:
    """Delete a job with its events."""
    is_job = sa.and_(trainings.c.id == job.id, is_own(trainings))
    execute(db, trainings.delete().where(is_job))


def select_finished_jobs(db: Transaction, ids: Collection[str]) -> set[str]:
    """Return the given ids that are of succeeded jobs of any tenant."""
    has_result = sa.and_(trainings.c.id.in_(ids), trainings.c.state == "succeeded")
    return set(db.scalars(sa.select(trainings.c.id).where(has_result)))


def add_event(
    db: Transaction,
    training_id: str,
    kind: str,
    now: datetime,
    share: float,
    **more: Any,
) -> None:
    """Write an event. Its state is `kind`, unless `more` has another."""
    last = sa.select(sa.func.max(training_events.c.number)).where(
        training_events.c.training_id == training_id
    )
    number = 1 + (db.scalar(last) or 0)
    data = {"state": kind, "progress": share} | more
    db.execute(
        training_events.insert().values(
            training_id=training_id, number=number, at=now, type=kind, data=data
        )
    )


def count_events(db: Transaction, training_id: str, kind: str) -> int:
    query = sa.select(sa.func.count()).where(
        training_events.c.training_id == training_id, training_events.c.type == kind
    )
    return db.scalar(query) or 0


def list_events(
    db: Transaction, numbers: Mapping[str, int]
) -> dict[str, tuple[JobEvent, ...]]:
    """Return events of several jobs in order, after each one's number in `numbers`."""
    columns = training_events.c
    is_new = [
        sa.and_(columns.training_id == training_id, columns.number > number)
        for training_id, number in numbers.items()
    ]
    events_by_id: dict[str, list[JobEvent]] = {key: [] for key in numbers}
    for start in range(0, len(is_new), AT_A_TIME):
        is_in_batch = sa.or_(*is_new[start : start + AT_A_TIME])
        query = sa.select(training_events).where(is_in_batch)
        for training_id, *rest in db.execute(query.order_by(columns.number)):
            events_by_id[training_id].append(JobEvent(*rest))
    return {key: tuple(items) for key, items in events_by_id.items()}


def get_last_progress(db: Transaction, training_id: str) -> dict[str, Any]:
    """Return the data of the last event of progress; {} without one."""
    columns = training_events.c
    is_step = sa.and_(columns.training_id == training_id, columns.type == "progress")
    query = sa.select(columns.data).where(is_step)
    return dict(db.scalar(query.order_by(columns.number.desc()).limit(1)) or {})


def add_checkpoints(
    db: Transaction,
    training_id: str,
    recipe: str,
    rounds: Iterable[tuple[int, int, str]],
) -> None:
    """Add part, first round and rounds; delete checkpoints of another recipe."""
    columns = checkpoints.c
    is_other = columns.recipe.is_distinct_from(recipe)
    is_stale = sa.and_(columns.training_id == training_id, is_other)
    db.execute(checkpoints.delete().where(is_stale))
    for part, first_round, text in rounds:
        db.execute(
            checkpoints.insert().values(
                training_id=training_id,
                part=part,
                first_round=first_round,
                rounds=text,
                recipe=recipe,
            )
        )


def get_checkpoints(
    db: Transaction, training_id: str, recipe: str
) -> list[tuple[int, str]]:
    """Return part and rounds of each checkpoint of a training's recipe, in order."""
    columns = checkpoints.c
    query = sa.select(columns.part, columns.rounds).where(
        columns.training_id == training_id, columns.recipe == recipe
    )
    rows = db.execute(query.order_by(columns.part, columns.first_round))
    return [(part, text) for part, text in rows]
