"""Locate a dataset's cells: in a blob, or in files elsewhere."""

from askless.app.errors import BlobGoneError
from askless.app.records import StoredDataset
from askless.app.store import datasets
from askless.app.store.database.transactions import Transaction
from askless.app.uploads.references import RecordedFile, TableReference

#: The name of a blob, or a table that stays where it is.
CellSource = str | TableReference


def find_cells(db: Transaction, dataset_id: str | None) -> CellSource:
    """Return the source of a dataset's cells; raise BlobGoneError if it was deleted."""
    dataset = datasets.find(db, dataset_id or "")
    if dataset is None:
        raise BlobGoneError
    return find_reference(db, dataset) or dataset.blob


def find_reference(db: Transaction, dataset: StoredDataset) -> TableReference | None:
    """Return the reference of a table in place; None for an uploaded one."""
    if dataset.url is None:
        return None
    files = (RecordedFile(*row) for row in datasets.get_files(db, dataset.id))
    return TableReference(dataset.url, tuple(files))
