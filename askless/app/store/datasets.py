"""Datasets. Their bytes are in blobs, or in files that stay elsewhere."""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from askless.app.records import FINAL_STATES, StoredDataset
from askless.app.store.database.rows import StoredRows
from askless.app.store.database.tables import datasets, trainings
from askless.app.store.database.tenancy import execute, is_own
from askless.app.store.database.transactions import Transaction

ROWS = StoredRows("dataset", "dat", datasets, StoredDataset)
make_id, insert, page = ROWS.make_id, ROWS.insert, ROWS.page
find, get, get_locked = ROWS.find, ROWS.get, ROWS.get_locked


def insert_reference(
    db: Transaction, dataset: StoredDataset, files: Iterable[Sequence[Any]]
) -> None:
    """Insert the row of a table in place, with facts about its files."""
    insert(db, dataset)
    ROWS.change(db, dataset.id, files=[list(file) for file in files])


def get_files(db: Transaction, dataset_id: str) -> list[list[Any]]:
    """Return the facts about the files of a table in place."""
    query = sa.select(datasets.c.files).where(
        is_own(datasets), datasets.c.id == dataset_id
    )
    return list(execute(db, query).scalar_one() or [])


def is_in_use(db: Transaction, dataset_id: str) -> bool:
    """Return whether a job that has not ended uses a dataset."""
    query = sa.select(trainings.c.id).where(
        is_own(trainings),
        trainings.c.dataset_id == dataset_id,
        trainings.c.state.not_in(FINAL_STATES),
    )
    return execute(db, query.limit(1)).first() is not None


def delete(db: Transaction, dataset_id: str) -> None:
    execute(db, datasets.delete().where(datasets.c.id == dataset_id, is_own(datasets)))


def select_named_blobs(db: Transaction, names: list[str]) -> set[str]:
    """Return the given blobs that a dataset of any tenant names."""
    query = sa.select(datasets.c.blob).where(datasets.c.blob.in_(names))
    return set(db.scalars(query))
