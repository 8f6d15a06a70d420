"""Trainings, their events and checkpoints: rows in and out; the rows are the queue.

A training's row is the only truth about its state. Whoever writes events or
checkpoints has changed or locked that row before, in the same transaction. Heartbeats
are written and judged by the database's clock, which all workers share.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from app.records import JobEvent, StoredJob, TrainingState
from app.store.database.clock import clock
from app.store.database.kinds import Id, UtcDateTime
from app.store.database.rows import StoredRows
from app.store.database.tables import metadata, trainings
from app.store.database.tenancy import owned, run
from app.store.database.transactions import Transaction


def training_key() -> sa.Column[str]:
    """Make the first column of what belongs to a training, and goes with it."""
    key = sa.ForeignKey("trainings.id", ondelete="CASCADE")
    return sa.Column("training_id", Id, key, primary_key=True)


# The rounds of a training so far: one row for each part and each checkpoint of it.
checkpoints = sa.Table(
    "checkpoints",
    metadata,
    training_key(),
    sa.Column("part", sa.Integer, primary_key=True),
    sa.Column("first_round", sa.Integer, primary_key=True),
    sa.Column("rounds", sa.Text, nullable=False),
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
#: As users see them: what makes a model is no job that applies one.
TRAININGS = StoredRows(
    "training", "trn", trainings, StoredJob, trainings.c.kind == "train"
)
JOBS = StoredRows("job", "job", trainings, StoredJob, trainings.c.kind != "train")
# Trainings whose events one query reads; SQLite takes no more than 1,000.
AT_A_TIME = 500
IS_QUEUED = trainings.c.state == "queued"
IS_HELD = trainings.c.state.in_(("running", "cancelling"))


def enqueue(db: Transaction, made: StoredJob, now: datetime) -> None:
    """Store a training; one that is stored is in the queue."""
    ROWS.insert(db, made)
    add_event(db, made.id, "queued", now, made.share)


def is_any_queued(db: Transaction) -> bool:
    """Whether there is anything to claim, of whatever tenant."""
    return (
        db.execute(sa.select(trainings.c.id).where(IS_QUEUED).limit(1)).first()
        is not None
    )


def is_begun(db: Transaction, name: str) -> bool:
    """Whether there is a training of a name that has not failed."""
    is_it = trainings.c.name == name, trainings.c.state != "failed"
    return TRAININGS.has_any(db, *is_it)


def count_ahead(db: Transaction, training: StoredJob) -> int:
    """Return how many, of whatever tenant, are claimed before one that is queued."""
    is_refit = trainings.c.refit_of.is_not(None)
    mine = (sa.literal(training.created_at, trainings.c.created_at.type), training.id)
    is_older = sa.tuple_(trainings.c.created_at, trainings.c.id) < sa.tuple_(*mine)
    if training.refit_of is None:
        is_ahead = sa.and_(sa.not_(is_refit), is_older)
    else:
        is_ahead = sa.or_(sa.not_(is_refit), is_older)
    wanted = sa.select(sa.func.count()).select_from(trainings)
    return db.scalar(wanted.where(IS_QUEUED, is_ahead)) or 0


def claim(db: Transaction, holder: str) -> StoredJob | None:
    """Take the oldest queued training for a worker, as its next attempt; one statement.

    The queue is one for all tenants.
    What nobody has asked for by name, a training at other prices, comes last.
    Two that claim at once get two trainings: PostgreSQL skips the rows that another
    one holds, and SQLite lets one transaction at a time write.
    """
    oldest = (
        sa.select(trainings.c.id)
        .where(IS_QUEUED)
        .order_by(
            trainings.c.refit_of.is_not(None), trainings.c.created_at, trainings.c.id
        )
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    now = clock(db)
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


def beat(db: Transaction, claimed: StoredJob) -> bool:
    """Write that an attempt is alive; False where it is no longer the present one."""
    change = trainings.update().where(
        owned(trainings),
        trainings.c.id == claimed.id,
        trainings.c.attempt == claimed.attempt,
        IS_HELD,
    )
    done = run(db, change.values(heartbeat_at=clock(db)).returning(trainings.c.id))
    return done.first() is not None


def silent_tenants(db: Transaction, timeout_s: float) -> list[str]:
    """Return the tenants that have trainings whose worker is silent."""
    wanted = sa.select(trainings.c.tenant_id).where(is_silent(db, timeout_s))
    return list(db.scalars(wanted.distinct()))


def is_overdue(db: Transaction, claimed: StoredJob, most_s: float) -> bool:
    """Whether a training has been under way for longer than it may."""
    is_it = trainings.c.id == claimed.id
    return ROWS.has_any(db, is_it, trainings.c.started_at < clock(db, most_s))


def lock_silent(db: Transaction, timeout_s: float) -> list[StoredJob]:
    """Lock a tenant's trainings of silent workers, but for those others lock."""
    wanted = ROWS.wanted.where(is_silent(db, timeout_s))
    rows = run(db, wanted.with_for_update(skip_locked=True))
    return [ROWS.read(row) for row in rows]


def is_silent(db: Transaction, timeout_s: float) -> sa.ColumnElement[bool]:
    return sa.and_(IS_HELD, trainings.c.heartbeat_at < clock(db, timeout_s))


def requeue(db: Transaction, training: StoredJob, kind: str, now: datetime) -> None:
    """Put a locked training back into the queue, where it keeps its place."""
    change(db, training.id, state="queued", holder=None, heartbeat_at=None)
    more = {"state": "queued", "attempt": training.attempt}
    add_event(db, training.id, kind, now, training.share, **more)


def end(
    db: Transaction,
    training: StoredJob,
    state: TrainingState,
    now: datetime,
    **values: Any,
) -> None:
    """Bring a locked training to its final state, which nothing changes any more."""
    change(db, training.id, state=state, finished_at=now, **values)
    gone = checkpoints.c.training_id == training.id
    db.execute(checkpoints.delete().where(gone))
    share = values.get("share", training.share)
    shown = {key: values[key] for key in ("model_id", "error") if key in values}
    add_event(db, training.id, state, now, share, **shown)


def cancel(db: Transaction, training: StoredJob, now: datetime) -> None:
    """Cancel a locked training: at once where it waits, else the worker is asked to."""
    if training.state == "queued":
        end(db, training, "cancelled", now)
    elif training.state == "running":
        change(db, training.id, state="cancelling")
        add_event(db, training.id, "cancelling", now, training.share)


def is_cancelling(db: Transaction, claimed: StoredJob) -> bool:
    is_it = trainings.c.id == claimed.id
    return ROWS.has_any(db, is_it, trainings.c.state == "cancelling")


def delete(db: Transaction, training: StoredJob) -> None:
    """Delete a row with its events."""
    is_it = sa.and_(trainings.c.id == training.id, owned(trainings))
    run(db, trainings.delete().where(is_it))


def finished_jobs(db: Transaction, ids: Collection[str]) -> set[str]:
    """Return those of some ids that are jobs with a result, of whatever tenant."""
    has_result = sa.and_(trainings.c.id.in_(ids), trainings.c.state == "succeeded")
    return set(db.scalars(sa.select(trainings.c.id).where(has_result)))


def lock_refits(db: Transaction, model_id: str) -> list[StoredJob]:
    """Lock and return the trainings of a model at the prices of lists."""
    wanted = ROWS.wanted.where(trainings.c.refit_of == model_id)
    return [ROWS.read(row) for row in run(db, wanted.with_for_update())]


def add_event(
    db: Transaction,
    training_id: str,
    kind: str,
    now: datetime,
    share: float,
    **more: Any,
) -> None:
    """Write an event of a state, which is the kind's name unless `more` has another."""
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
    wanted = sa.select(sa.func.count()).where(
        training_events.c.training_id == training_id, training_events.c.type == kind
    )
    return db.scalar(wanted) or 0


def events(
    db: Transaction, numbers: Mapping[str, int]
) -> dict[str, tuple[JobEvent, ...]]:
    """Return the events of several trainings, each after its own number, in order."""
    columns = training_events.c
    is_new = [
        sa.and_(columns.training_id == training_id, columns.number > number)
        for training_id, number in numbers.items()
    ]
    found: dict[str, list[JobEvent]] = {key: [] for key in numbers}
    for start in range(0, len(is_new), AT_A_TIME):
        some = sa.or_(*is_new[start : start + AT_A_TIME])
        wanted = sa.select(training_events).where(some)
        for training_id, *rest in db.execute(wanted.order_by(columns.number)):
            found[training_id].append(JobEvent(*rest))
    return {key: tuple(items) for key, items in found.items()}


def last_step(db: Transaction, training_id: str) -> dict[str, Any]:
    """Return what the last event of progress tells; nothing where there is none."""
    columns = training_events.c
    is_step = sa.and_(columns.training_id == training_id, columns.type == "progress")
    wanted = sa.select(columns.data).where(is_step)
    return dict(db.scalar(wanted.order_by(columns.number.desc()).limit(1)) or {})


def add_checkpoint(
    db: Transaction, training_id: str, part: int, first_round: int, rounds: str
) -> None:
    db.execute(
        checkpoints.insert().values(
            training_id=training_id, part=part, first_round=first_round, rounds=rounds
        )
    )


def get_checkpoints(db: Transaction, training_id: str) -> list[tuple[int, str]]:
    """Return the parts and rounds of a training so far, in order."""
    columns = checkpoints.c
    wanted = sa.select(columns.part, columns.rounds).where(
        columns.training_id == training_id
    )
    rows = db.execute(wanted.order_by(columns.part, columns.first_round))
    return [(part, text) for part, text in rows]
