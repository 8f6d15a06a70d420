"""Datasets: rows in and out; their bytes are blobs."""

import secrets
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.records import FINAL_STATES, Page, StoredDataset
from app.store.paging import newest
from app.store.tables import columns_of, datasets, trainings

COLUMNS = columns_of(datasets, StoredDataset)


def make_id() -> str:
    return f"dat_{secrets.token_hex(12)}"


def insert(db: Session, made: StoredDataset) -> None:
    db.execute(datasets.insert().values(asdict(made)))


def get(db: Session, dataset_id: str) -> StoredDataset | None:
    row = db.execute(sa.select(*COLUMNS).where(datasets.c.id == dataset_id)).first()
    return None if row is None else read_row(row)


def get_locked(db: Session, dataset_id: str) -> StoredDataset | None:
    """Return a dataset that nobody deletes or begins to use until this one ends."""
    wanted = sa.select(*COLUMNS).where(datasets.c.id == dataset_id)
    row = db.execute(wanted.with_for_update()).first()
    return None if row is None else read_row(row)


def page(db: Session, limit: int, after: str | None) -> Page[StoredDataset] | None:
    """Return some datasets, newest first; None if there is no dataset `after`."""
    key = (datasets.c.created_at, datasets.c.id)
    return newest(db, sa.select(*COLUMNS), key, limit, after, read_row)


def is_in_use(db: Session, dataset_id: str) -> bool:
    """Whether a training that has not ended uses a dataset."""
    wanted = sa.select(trainings.c.id).where(
        trainings.c.dataset_id == dataset_id, trainings.c.state.not_in(FINAL_STATES)
    )
    return db.execute(wanted.limit(1)).first() is not None


def delete(db: Session, dataset_id: str) -> None:
    db.execute(datasets.delete().where(datasets.c.id == dataset_id))


def named_blobs(db: Session, names: list[str]) -> set[str]:
    """Return those of some blobs that a row names."""
    wanted = sa.select(datasets.c.blob).where(datasets.c.blob.in_(names))
    return set(db.scalars(wanted))


def read_row(row: Any) -> StoredDataset:
    values = row._asdict()
    return StoredDataset(**values | {"columns": tuple(values["columns"])})
