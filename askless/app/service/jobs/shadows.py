"""Shadows: check, enqueue, show and cancel them; compute one; read its report."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from askless.app.batch.budgets import parse_price
from askless.app.batch.outputs import Computing, JobOutput
from askless.app.batch.predicting import BatchProgress
from askless.app.batch.shadow.log_files import (
    LogFile,
    check_log,
    draft_mapping,
    list_text_columns_of_log,
    make_log,
)
from askless.app.batch.shadow.shadow_runs import ShadowOptions, shadow_log
from askless.app.documents.fields import MAX_NAME
from askless.app.documents.http.trainings import ShownShadow
from askless.app.documents.log_mapping import LogMapping
from askless.app.documents.shape import read_shape
from askless.app.documents.spec.spec import read_spec
from askless.app.documents.text import parse_json, parse_spec
from askless.app.records import StoredDataset, StoredJob
from askless.app.service import limits
from askless.app.service.jobs.nouns import JobNoun
from askless.app.service.jobs.run import JobSource, Workshop, open_cells
from askless.app.service.jobs.table_runs import TableRun, blob_name
from askless.app.service.jobs.trainings import plain_spec
from askless.app.store import datasets, jobs
from askless.app.store.blobs import Blobs
from askless.app.store.database.transactions import Transaction
from askless.app.words.shadow.shadow_view import (
    ShadowView,
    build_shadow_view,
    shadow_json,
)
from askless.core.work import convert_steps

NOUN = JobNoun(jobs.SHADOWS, ShownShadow, "conflict")
page, show, cancel = NOUN.page, NOUN.show, NOUN.cancel
# Ends the name of the model that a shadow trains.
SUFFIX = " shadow"


@dataclass(frozen=True)
class ShadowOrder:
    """A checked order, as it is stored, and the name of the model that comes of it."""

    name: str
    document: dict[str, Any]


def draft(names: Sequence[str], spec_text: str) -> tuple[str, list[str]]:
    """Return a mapping drafted from the columns of a log, as text, and notes."""
    spec = read_spec(parse_spec(spec_text))
    drafted, notes = draft_mapping(names, spec)
    return json.dumps(drafted, ensure_ascii=False, indent=1), notes


def read_order(
    names: Sequence[str], spec_text: str, mapping_text: str, error_price: str
) -> ShadowOrder:
    """Read and check an order for a log with these columns; raise RefusedError."""
    raw = parse_spec(spec_text)
    spec = read_spec(raw)
    mapping = read_shape(LogMapping, parse_json(mapping_text, "mapping"), "mapping")
    check_log(names, spec, mapping)
    price = parse_price(error_price or None, "error_price")
    document = {
        "spec": plain_spec(raw),
        "mapping": mapping.model_dump(),
        "error_price": price,
    }
    return ShadowOrder(spec.name[: MAX_NAME - len(SUFFIX)] + SUFFIX, document)


def start(
    db: Transaction, order: ShadowOrder, table: StoredDataset, now: datetime
) -> StoredJob:
    """Store a shadow and put it into the queue."""
    limits.check_training(db)
    datasets.get_locked(db, table.id)
    job = StoredJob(
        id=jobs.SHADOWS.make_id(),
        name=order.name,
        dataset_id=table.id,
        spec=order.document,
        warnings=(),
        created_at=now,
        kind="shadow",
    )
    jobs.enqueue(db, job, now)
    return job


def open_shadow(workshop: Workshop, source: JobSource, job: StoredJob) -> TableRun:
    """Open the log of a shadow; it is computed from its first row."""
    # The model that was compared is kept under the name of the job.
    spec = replace(read_spec(job.spec["spec"]), name=job.name)
    mapping = read_shape(LogMapping, job.spec["mapping"], "mapping")
    table = open_cells(workshop, source.cells, list_text_columns_of_log(spec, mapping))
    options = ShadowOptions(error_price=job.spec["error_price"])
    computing = compute_shadow(make_log(table, spec, mapping), options)
    return TableRun(job, workshop.blobs, computing)


def compute_shadow(log: LogFile, options: ShadowOptions) -> Computing:
    """Replay a log; the result is the figures and what the report shows, in JSON."""
    with TemporaryDirectory() as folder:
        result = yield from convert_steps(
            shadow_log(log, options, Path(folder)),
            lambda step: BatchProgress(step.share),
        )
    view = build_shadow_view(result)._asdict()
    content = json.dumps({"figures": shadow_json(result), "view": view}).encode()
    streams = {"json": io.BytesIO(content)}
    return JobOutput(streams, result.figures.n_cases, result.model)


def read_view(blobs: Blobs, job_id: str) -> ShadowView:
    """Read what the report of a shadow shows; raise BlobGoneError if it is gone."""
    with blobs.open(blob_name(job_id, "json")) as file:
        return ShadowView(**json.load(file)["view"])
