"""Trainings, their events and checkpoints: rows in and out.

A training's row is the only truth about its state. Whoever writes events or
checkpoints has changed or locked that row before, in the same transaction.
"""

import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.records import Page, StoredTraining, TrainingEvent, TrainingState
from app.store.tables import checkpoints, training_events, trainings
from core.codec import rounds_from_json, rounds_to_json
from core.table.catalogue import Catalogue
from core.training.rounds import Round

COLUMNS = (
    trainings.c.id,
    trainings.c.name,
    trainings.c.state,
    trainings.c.dataset_id,
    trainings.c.spec,
    trainings.c.warnings,
    trainings.c.share,
    trainings.c.attempt,
    trainings.c.model_id,
    trainings.c.error,
    trainings.c.created_at,
    trainings.c.started_at,
    trainings.c.finished_at,
)
Rounds = Mapping[int, Sequence[Round]]


def insert(
    db: Session,
    *,
    name: str,
    dataset_id: str,
    spec: dict[str, Any],
    warnings: Sequence[str],
    now: datetime,
) -> StoredTraining:
    made = StoredTraining(
        id=f"trn_{secrets.token_hex(12)}",
        name=name,
        state="queued",
        dataset_id=dataset_id,
        spec=spec,
        warnings=tuple(warnings),
        share=0.0,
        attempt=0,
        model_id=None,
        error=None,
        created_at=now,
        started_at=None,
        finished_at=None,
    )
    values = {column.name: getattr(made, column.name) for column in COLUMNS}
    db.execute(trainings.insert().values(values | {"warnings": list(warnings)}))
    return made


def get(db: Session, training_id: str) -> StoredTraining | None:
    row = db.execute(sa.select(*COLUMNS).where(trainings.c.id == training_id)).first()
    return None if row is None else read_row(row)


def get_locked(db: Session, training_id: str) -> StoredTraining | None:
    """Give a training that no other transaction changes until this one ends."""
    wanted = sa.select(*COLUMNS).where(trainings.c.id == training_id)
    row = db.execute(wanted.with_for_update()).first()
    return None if row is None else read_row(row)


def page(db: Session, limit: int, after: str | None) -> Page[StoredTraining] | None:
    """Give some trainings, newest first; None if there is no training `after`."""
    wanted = sa.select(*COLUMNS)
    if after is not None:
        last = get(db, after)
        if last is None:
            return None
        place = sa.tuple_(trainings.c.created_at, trainings.c.id)
        start = (
            sa.literal(last.created_at, trainings.c.created_at.type),
            sa.literal(last.id),
        )
        wanted = wanted.where(place < sa.tuple_(*start))
    order = (trainings.c.created_at.desc(), trainings.c.id.desc())
    rows = db.execute(wanted.order_by(*order).limit(limit + 1)).all()
    items = tuple(read_row(row) for row in rows[:limit])
    return Page(items, items[-1].id if len(rows) > limit else None)


def change(
    db: Session,
    training_id: str,
    *,
    at: int,
    states: Collection[TrainingState],
    **values: object,
) -> bool:
    """Change a training, provided its attempt is `at` and its state one of these."""
    done = db.execute(
        trainings.update()
        .where(
            trainings.c.id == training_id,
            trainings.c.attempt == at,
            trainings.c.state.in_(states),
        )
        .values(**values)
        .returning(trainings.c.id)
    )
    return done.first() is not None


def end(
    db: Session,
    training: StoredTraining,
    state: TrainingState,
    now: datetime,
    **values: Any,
) -> None:
    """Bring a locked training to its final state, which nothing changes any more."""
    ended = change(
        db,
        training.id,
        at=training.attempt,
        states=(training.state,),
        state=state,
        finished_at=now,
        **values,
    )
    assert ended, "the row was locked"
    drop_checkpoint(db, training.id)
    share = values.get("share", training.share)
    shown = {key: values[key] for key in ("model_id", "error") if key in values}
    add_event(db, training.id, state, {"state": state, "progress": share} | shown, now)


def silent(
    db: Session, states: Collection[TrainingState], since: datetime
) -> list[StoredTraining]:
    """Give the trainings in some states whose worker has been silent since then."""
    wanted = sa.select(*COLUMNS).where(
        trainings.c.state.in_(states), trainings.c.heartbeat_at < since
    )
    return [read_row(row) for row in db.execute(wanted)]


def is_silent(db: Session, training_id: str, since: datetime) -> bool:
    wanted = sa.select(trainings.c.heartbeat_at < since)
    return bool(db.scalar(wanted.where(trainings.c.id == training_id)))


def queued(db: Session) -> list[StoredTraining]:
    wanted = sa.select(*COLUMNS).where(trainings.c.state == "queued")
    return [read_row(row) for row in db.execute(wanted)]


def add_event(
    db: Session, training_id: str, kind: str, data: dict[str, Any], now: datetime
) -> None:
    number = 1 + (
        db.scalar(
            sa.select(sa.func.max(training_events.c.number)).where(
                training_events.c.training_id == training_id
            )
        )
        or 0
    )
    db.execute(
        training_events.insert().values(
            training_id=training_id, number=number, at=now, type=kind, data=data
        )
    )


def count_events(db: Session, training_id: str, kind: str) -> int:
    wanted = sa.select(sa.func.count()).where(
        training_events.c.training_id == training_id, training_events.c.type == kind
    )
    return db.scalar(wanted) or 0


def events(
    db: Session, numbers: Mapping[str, int]
) -> dict[str, tuple[TrainingEvent, ...]]:
    """Give the events of several trainings, each after its own number, in order."""
    if not numbers:
        return {}
    columns = training_events.c
    is_new = (
        sa.and_(columns.training_id == training_id, columns.number > number)
        for training_id, number in numbers.items()
    )
    wanted = (
        sa.select(
            columns.training_id, columns.number, columns.at, columns.type, columns.data
        )
        .where(sa.or_(*is_new))
        .order_by(columns.training_id, columns.number)
    )
    found: dict[str, list[TrainingEvent]] = {key: [] for key in numbers}
    for training_id, *rest in db.execute(wanted):
        found[training_id].append(TrainingEvent(*rest))
    return {key: tuple(items) for key, items in found.items()}


def add_checkpoint(db: Session, training_id: str, rounds: Rounds) -> None:
    for part, added in rounds.items():
        db.execute(
            checkpoints.insert().values(
                training_id=training_id,
                part=part,
                first_round=added[0].number,
                rounds=json.dumps(rounds_to_json(added)),
            )
        )


def get_checkpoint(
    db: Session, training_id: str, catalogue: Catalogue, n_outputs: int
) -> dict[int, list[Round]]:
    """Give the rounds of a training so far, by part."""
    wanted = (
        sa.select(checkpoints.c.part, checkpoints.c.rounds)
        .where(checkpoints.c.training_id == training_id)
        .order_by(checkpoints.c.part, checkpoints.c.first_round)
    )
    rounds: dict[int, list[Round]] = {}
    for part, text in db.execute(wanted):
        rounds.setdefault(part, []).extend(
            rounds_from_json(json.loads(text), catalogue, n_outputs)
        )
    return rounds


def drop_checkpoint(db: Session, training_id: str) -> None:
    db.execute(checkpoints.delete().where(checkpoints.c.training_id == training_id))


def read_row(row: Any) -> StoredTraining:
    values = row._asdict()
    return StoredTraining(**values | {"warnings": tuple(values["warnings"])})
