"""Datasets below HTTP: what is in use stays, and uploads that nothing holds go."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO

import pytest
import sqlalchemy as sa

from askless.app.errors import ConflictError, NotFoundError
from askless.app.service import datasets
from askless.app.service.jobs import trainings
from askless.app.store.database.tables import datasets as dataset_rows
from askless.app.uploads.parsing import make_reader
from askless.app.worker.errands import Errands
from tests.app.jobs import Jobs, Spec, now
from tests.app.tenants import transaction


def test_dataset_in_use_is_not_deleted(jobs: Jobs, table: bytes, spec: Spec) -> None:
    training = jobs.start(table, spec)
    dataset_id = training.dataset_id or ""

    with pytest.raises(ConflictError) as caught, transaction(jobs.engine) as db:
        datasets.delete(db, dataset_id)
    assert caught.value.kind == "dataset-in-use"
    jobs.worker().work()
    with transaction(jobs.engine) as db:
        datasets.delete(db, dataset_id)

    assert jobs.get(training.id).dataset_id is None
    assert jobs.document(training.id)


def test_deleted_dataset_is_not_trained_on(
    jobs: Jobs, table: bytes, spec: Spec
) -> None:
    upload, order = jobs.read(table, spec)
    with transaction(jobs.engine) as db:
        dataset = datasets.store(db, jobs.blobs, upload, now())
    with transaction(jobs.engine) as db:
        datasets.delete(db, dataset.id)

    with pytest.raises(NotFoundError), transaction(jobs.engine) as db:
        trainings.start(db, order, dataset.id, now())


@dataclass
class WritingStream(BytesIO):
    """A stream during whose reading somebody else writes to the database."""

    jobs: Jobs
    n_writes: int = 0

    def read(self, size: int | None = -1) -> bytes:
        with transaction(self.jobs.engine) as db:
            db.execute(sa.delete(dataset_rows).where(dataset_rows.c.id == "none"))
        self.n_writes += 1
        return super().read(size)


def test_uploads_are_parsed_before_their_transaction_begins(
    jobs: Jobs, table: bytes
) -> None:
    stream = WritingStream(jobs)
    stream.write(table)
    stream.seek(0)

    with transaction(jobs.engine) as db:
        upload = datasets.read_upload(make_reader(jobs.settings), "table.csv", stream)
        made = datasets.store(db, jobs.blobs, upload, now())

    assert stream.n_writes > 1
    with jobs.blobs.open(made.blob) as stored:
        assert stored.read() == table


def test_orphaned_uploads_are_removed_once_they_are_old(
    jobs: Jobs, table: bytes, spec: Spec
) -> None:
    training = jobs.start(table, spec)
    for name in ("dat_orphan", "dat_fresh"):
        jobs.blobs.write(name, BytesIO(table))
    for name in ("dat_orphan", training.dataset_id or ""):
        os.utime(f"{jobs.blobs.root}/{name}", (1, 1))

    Errands(jobs.engine, jobs.blobs, jobs.settings).remove_orphans()

    left = set(jobs.blobs.names(before=datetime.max.replace(tzinfo=UTC)))
    assert left == {training.dataset_id, "dat_fresh"}
