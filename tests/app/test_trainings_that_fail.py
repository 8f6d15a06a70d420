"""Trainings that fail: each tells why, and leaves nothing behind."""

import json
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest

from askless.app.records import StoredJob
from askless.app.service import datasets
from askless.app.service.jobs import trainings
from askless.app.store.blobs import Blobs
from askless.app.store.database.tables import datasets as dataset_rows
from askless.app.store.database.tables import models as model_rows
from askless.app.store.database.tables import trainings as training_rows
from askless.core.errors import RefusedError
from askless.core.model.model import Model
from askless.core.pipeline.progress import Training
from tests.app.clinic import clinic
from tests.app.jobs import Jobs, Spec, noisy_spec, noisy_table, now
from tests.app.tenants import transaction
from tests.app.test_trainings import count


@pytest.fixture
def training(jobs: Jobs, table: bytes, spec: Spec) -> StoredJob:
    """A small one in the queue."""
    return jobs.start(table, spec)


def test_third_lost_worker_fails_the_training(jobs: Jobs) -> None:
    training = jobs.start(noisy_table(), noisy_spec(30))
    swept = []
    for attempt in (1, 2, 3):
        run = jobs.begin(training.id, attempt)
        jobs.advance(training.id, attempt, run)
        swept += jobs.sweep(max_attempts=3)

    assert [state for _, state in swept] == ["queued", "queued", "failed"]
    ended = jobs.get(training.id)
    assert ended.error is not None
    assert ended.error["type"] == "/problems/worker-lost"
    assert jobs.n_checkpoints() == 0


def test_data_that_no_longer_fits_fails_with_the_refusals(
    jobs: Jobs, training: StoredJob
) -> None:
    jobs.blobs.write(training.dataset_id or "", BytesIO(b"age,disease\n1,secret\n"))

    assert jobs.worker().work() == "failed"

    error = jobs.get(training.id).error
    assert error is not None
    assert error["type"] == "/problems/invalid-request"
    assert any(problem["field"] == "features" for problem in error["errors"])
    assert "secret" not in json.dumps(error)


def test_model_that_could_not_be_read_is_not_stored(
    jobs: Jobs, training: StoredJob
) -> None:
    run = jobs.begin(training.id, 1)
    run.progress = broken_training()

    with pytest.raises(RefusedError, match="priors"):
        run.pull(60.0)

    assert count(jobs, model_rows) == 0


def broken_training() -> Training:
    """A training that comes to what is no model."""
    yield from ()
    nan = replace(clinic(), priors=(float("nan"), float("nan")))
    return Model("broken", nan, "disease")


def test_only_the_blobs_own_absence_is_a_lost_dataset(
    jobs: Jobs, training: StoredJob
) -> None:
    worker = jobs.worker()
    worker.attempts.computer.blobs = BrokenBlobs(
        jobs.settings.blobs_url, FileNotFoundError("model.so")
    )

    assert worker.work() == "failed"

    error = jobs.get(training.id).error
    assert error is not None
    assert error["type"] == "/problems/internal"


def test_missing_blob_fails_with_a_reason(jobs: Jobs, training: StoredJob) -> None:
    jobs.blobs.remove(training.dataset_id or "")

    assert jobs.worker().work() == "failed"

    error = jobs.get(training.id).error
    assert error is not None
    assert error["type"] == "/problems/training-failed"
    assert "dataset" in error["detail"]


class BrokenBlobs(Blobs):
    """An object store whose streams fail in a way nobody foresaw."""

    def __init__(self, url: str, error: Exception) -> None:
        super().__init__(url)
        self.error = error

    def open(self, name: str) -> Any:
        del name
        return self

    def __enter__(self) -> Any:
        raise self.error

    def __exit__(self, *_: object) -> None: ...


def test_unforeseen_failure_tells_its_reason_to_the_log_alone(
    jobs: Jobs,
    table: bytes,
    spec: Spec,
    caplog: pytest.LogCaptureFixture,
) -> None:
    training = jobs.start(table, spec)
    worker = jobs.worker()
    worker.attempts.computer.blobs = BrokenBlobs(
        jobs.settings.blobs_url, RuntimeError("secret")
    )

    assert worker.work() == "failed"

    ended = jobs.get(training.id)
    assert ended.error is not None
    assert ended.error["type"] == "/problems/internal"
    assert "secret" not in json.dumps(ended.error)
    assert "secret" in caplog.text


def test_training_is_stored_whole_or_not_at_all(
    jobs: Jobs, table: bytes, spec: Spec
) -> None:
    upload, order = jobs.read(table, spec)

    def start_and_fail() -> None:
        with transaction(jobs.engine) as db:
            dataset = datasets.store(db, jobs.blobs, upload, now())
            trainings.start(db, order, dataset.id, now())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        start_and_fail()

    assert count(jobs, training_rows) == 0
    assert count(jobs, dataset_rows) == 0
