"""Datasets: read once, kept as a blob and a row, deleted when nothing uses them.

A blob is written before the row that names it and removed after it, so a crash may
leave a blob without a row, never a row without its blob.
"""

from dataclasses import dataclass
from datetime import datetime
from io import SEEK_END
from typing import IO, Any

from sqlalchemy.orm import Session

from app.documents.fields import MAX_NAME, NAME_RULE, is_name
from app.errors import ConflictError
from app.ingest import Bounds, read_table
from app.memory import available_bytes
from app.records import StoredDataset
from app.service import limits
from app.store import datasets
from app.store.blobs import Blobs
from core.errors import Refusal, RefusedError

get, page, named_blobs = datasets.get, datasets.page, datasets.named_blobs
DEFAULT_NAME = "dataset"


@dataclass(frozen=True)
class Upload:
    """A table that was read, and the bytes it came from."""

    name: str
    stream: IO[bytes]
    table: Any


def read(name: str | None, stream: IO[bytes]) -> Upload:
    """Read an upload, refusing what is no table; nothing is stored."""
    table = read_table(stream, Bounds(memory=available_bytes()))
    refusals = []
    if table.num_rows == 0:
        refusals.append(Refusal("table", "must have at least one row"))
    if not all(is_name(column) for column in table.column_names):
        refusals.append(Refusal("header", f"names {NAME_RULE}"))
    if refusals:
        raise RefusedError(refusals)
    return Upload(clean(name or ""), stream, table)


def clean(name: str) -> str:
    """Make a file's name fit to store."""
    shown = "".join(one for one in name if one.isprintable())[:MAX_NAME].strip()
    return shown or DEFAULT_NAME


def create(
    db: Session, blobs: Blobs, name: str | None, stream: IO[bytes], now: datetime
) -> StoredDataset:
    """Read and store an upload; the transaction begins after the reading."""
    return store(db, blobs, read(name, stream), now)


def store(db: Session, blobs: Blobs, upload: Upload, now: datetime) -> StoredDataset:
    limits.check_table(db, upload.table.num_rows, upload.table.num_columns)
    limits.check_upload(db, upload.stream.seek(0, SEEK_END))
    dataset_id = datasets.make_id()
    upload.stream.seek(0)
    made = StoredDataset(
        id=dataset_id,
        name=upload.name,
        blob=dataset_id,
        n_bytes=blobs.write(dataset_id, upload.stream),
        n_rows=upload.table.num_rows,
        columns=tuple(upload.table.column_names),
        created_at=now,
    )
    datasets.insert(db, made)
    return made


def delete(db: Session, dataset_id: str) -> StoredDataset:
    """Delete a row that no training in progress uses.

    Its blob is for the caller to remove, once this is committed.
    """
    found = datasets.get_locked(db, dataset_id)
    if datasets.is_in_use(db, dataset_id):
        detail = "A training that is queued or running uses this dataset."
        raise ConflictError("dataset-in-use", detail)
    datasets.delete(db, dataset_id)
    return found
