"""Read, store and delete datasets: a blob and a row each.

A table that stays where it is has only a row; its files are never written.

A blob is written before the row that names it and removed after it, so a crash may
leave a blob without a row, never a row without its blob.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from datetime import datetime
from io import SEEK_END
from typing import IO

from askless.app.documents.fields import MAX_NAME
from askless.app.errors import BlobGoneError, ConflictError
from askless.app.processes.limited import IsWanted as IsWanted
from askless.app.processes.limited import is_always_wanted
from askless.app.records import StoredDataset
from askless.app.service import limits
from askless.app.service.sources import find_reference
from askless.app.store import datasets
from askless.app.store.blobs import Blobs
from askless.app.store.database.transactions import Transaction
from askless.app.uploads.joined import NamedSource as NamedSource
from askless.app.uploads.parsing import ReferredTable, TableFacts, TableReader
from askless.app.uploads.parsing import TableSource as TableSource

get, page, named_blobs = datasets.get, datasets.page, datasets.select_named_blobs
DEFAULT_NAME = "dataset"


@dataclass(frozen=True)
class Upload:
    """An uploaded table: its name, bytes and facts."""

    name: str
    stream: IO[bytes]
    facts: TableFacts


@dataclass(frozen=True)
class Link:
    """A table that stays where it is, with the name to store it under."""

    name: str
    table: ReferredTable


def link_table(
    reader: TableReader, url: str, name: str | None, is_wanted: IsWanted
) -> Link:
    """Read the footers of a table in place; refuse what is no table; store nothing."""
    table = reader.refer(url, is_wanted)
    return Link(clean_name(name or url.rstrip("/")), table)


def read_upload(
    reader: TableReader,
    name: str | None,
    stream: IO[bytes],
    is_wanted: IsWanted = is_always_wanted,
) -> Upload:
    """Read an upload; refuse what is no table; store nothing."""
    return make_upload(name, stream, reader.examine(stream, is_wanted))


def make_upload(name: str | None, stream: IO[bytes], facts: TableFacts) -> Upload:
    return Upload(clean_name(name or ""), stream, facts)


def open_source(
    db: Transaction, blobs: Blobs, dataset_id: str
) -> AbstractContextManager[TableSource]:
    """Open a dataset, end the transaction; raise ConflictError if it is gone."""
    dataset = datasets.get(db, dataset_id)
    linked = find_linked_table(db, dataset)
    # On SQLite an open transaction would make every writer wait for the parser.
    db.rollback()
    if linked is not None:
        return nullcontext(linked)
    try:
        stream: IO[bytes] = blobs.open(dataset.blob)
    except BlobGoneError:
        detail = "The file of this dataset is gone."
        raise ConflictError("conflict", detail) from None
    return stream


def open_sources(
    db: Transaction, blobs: Blobs, dataset_ids: Iterable[str], stack: ExitStack
) -> list[NamedSource]:
    """Open datasets as `open_source` does, each with its name, until `stack` ends."""
    names = {
        dataset_id: datasets.get(db, dataset_id).name for dataset_id in dataset_ids
    }
    return [
        NamedSource(name, stack.enter_context(open_source(db, blobs, dataset_id)))
        for dataset_id, name in names.items()
    ]


def find_linked_table(db: Transaction, dataset: StoredDataset) -> ReferredTable | None:
    """Return a table that stays where it is; None if it was uploaded."""
    reference = find_reference(db, dataset)
    if reference is None:
        return None
    return ReferredTable(TableFacts(dataset.n_rows, dataset.columns), reference)


def clean_name(name: str) -> str:
    """Return a file's name without folder, printable and at most `MAX_NAME` long."""
    name = name.replace("\\", "/").rpartition("/")[2]
    shown = "".join(letter for letter in name if letter.isprintable())[
        :MAX_NAME
    ].strip()
    return shown or DEFAULT_NAME


def store(
    db: Transaction, blobs: Blobs, upload: Upload, now: datetime
) -> StoredDataset:
    """Store a table and its blob; raise RefusedError or LimitError."""
    limits.check_table(db, upload.facts.n_rows, len(upload.facts.columns))
    limits.check_upload(db, upload.stream.seek(0, SEEK_END))
    dataset_id = datasets.make_id()
    upload.stream.seek(0)
    dataset = StoredDataset(
        id=dataset_id,
        name=upload.name,
        blob=dataset_id,
        n_bytes=blobs.write(dataset_id, upload.stream),
        n_rows=upload.facts.n_rows,
        columns=upload.facts.columns,
        created_at=now,
    )
    db.on_rollback(lambda: blobs.remove(dataset.blob))
    datasets.insert(db, dataset)
    return dataset


def store_link(db: Transaction, link: Link, now: datetime) -> StoredDataset:
    """Store a table that stays where it is."""
    facts, reference = link.table.facts, link.table.reference
    limits.check_table(db, facts.n_rows, len(facts.columns))
    dataset_id = datasets.make_id()
    dataset = StoredDataset(
        id=dataset_id,
        name=link.name,
        # There is no such blob; an older version would report the dataset as lost.
        blob=dataset_id,
        n_bytes=link.table.n_bytes,
        n_rows=facts.n_rows,
        columns=facts.columns,
        created_at=now,
        url=reference.url,
    )
    datasets.insert_reference(db, dataset, reference.files)
    return dataset


def delete(db: Transaction, dataset_id: str) -> StoredDataset:
    """Delete the row of a dataset that no training in progress uses.

    The caller removes its blob after the commit. Raises ConflictError if a training in
    progress uses it.
    """
    dataset = datasets.get_locked(db, dataset_id)
    if datasets.is_in_use(db, dataset_id):
        detail = "A training that is queued or running uses this dataset."
        raise ConflictError("dataset-in-use", detail)
    datasets.delete(db, dataset_id)
    return dataset
