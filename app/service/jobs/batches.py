"""Jobs that apply a model to a table: computed, from the rows to the result's blobs."""

import io
import json
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

from app.batch.curves import curve_json, list_policies
from app.batch.labelled import columns_with_text
from app.batch.measuring import measure_source, plan_measuring
from app.batch.orders import read_evaluate, read_predict
from app.batch.predicting import (
    BatchProgress,
    find_text,
    plan_prediction,
    write_predictions,
)
from app.batch.results import lay_out_curve, to_csv, to_parquet
from app.batch.sources import MemoryRows, RowSource, StreamedRows
from app.batch.writing import open_stream
from app.errors import NotFoundError
from app.records import StoredTraining
from app.service.jobs.queue import hold
from app.service.loaded import parse_model
from app.service.sources import CellSource, find_cells
from app.store import models, trainings
from app.store.blobs import Blobs
from app.store.database.transactions import Transaction
from app.uploads.parsing import TableReader, read_bounded
from app.uploads.places import as_arrow, find_file, is_parquet
from app.uploads.references import TableReference, open_reference, unlimited_rows
from app.uploads.streams import StreamedTable
from core.errors import Refusal, RefusedError
from core.model.model import Model

TABLES = ("csv", "parquet")
#: What results may be had as; the first is the usual one.
FORMATS = {"predict": TABLES, "evaluate": ("json", *TABLES)}
MODEL_GONE = "must be there still: it was deleted"


class JobSource(NamedTuple):
    """What a job works on: where the table's cells are, and a model's document."""

    cells: CellSource
    document: str


class JobOutput(NamedTuple):
    """What a job comes to: the result in each of its formats, and its rows."""

    contents: Mapping[str, IO[bytes]]
    rows: int


Computing = Generator[BatchProgress, None, JobOutput]
#: Opens a table, given the columns whose cells are wanted as written.
Opening = Callable[[frozenset[str]], RowSource]


@dataclass(frozen=True)
class JobStep:
    """How much is done; with the last one comes what is told of the result."""

    share: float
    result: dict[str, Any] | None = None


@dataclass
class JobRun:
    """A job in this process's memory, computed a step at a time."""

    job: StoredTraining
    blobs: Blobs
    working: Computing
    share: float = field(default=0.0)

    def pull(self, step_s: float) -> JobStep:
        """Compute for a while; the last step has written the result."""
        deadline = time.monotonic() + step_s
        while True:
            try:
                self.share = next(self.working).share
            except StopIteration as end:
                return JobStep(1.0, self.write(end.value))
            if time.monotonic() >= deadline:
                return JobStep(self.share)

    def write(self, output: JobOutput) -> dict[str, Any]:
        """Write the blobs, each whole: an attempt that comes later writes the same."""
        with ExitStack() as stack:
            for stream in output.contents.values():
                stack.enter_context(stream)
            for name, stream in output.contents.items():
                stream.seek(0)
                self.blobs.write(blob_name(self.job.id, name), stream)
        return {"rows": output.rows, "formats": list(output.contents)}


def blob_name(job_id: str, form: str) -> str:
    return f"{job_id}.{form}"


def find_source(db: Transaction, job: StoredTraining) -> JobSource:
    """Return what a job works on; BlobGoneError or RefusedError where it is gone."""
    cells = find_cells(db, job.dataset_id)
    try:
        document = models.get(db, job.asked_model or "").document
    except NotFoundError:
        raise RefusedError([Refusal("model", MODEL_GONE)]) from None
    return JobSource(cells, document)


def read_work(
    reader: TableReader, blobs: Blobs, source: JobSource, job: StoredTraining
) -> JobRun:
    """Read what a job works on; it is computed from its first row on."""
    opening = find_rows(reader, blobs, source.cells)
    working = WORK[job.kind](parse_model(source.document), opening, job.spec)
    return JobRun(job, blobs, working)


def find_rows(reader: TableReader, blobs: Blobs, cells: CellSource) -> Opening:
    """Return what opens a table: Parquet by its row groups, any other is read whole."""
    bounds = reader.bounds
    if isinstance(cells, TableReference):
        most = unlimited_rows(bounds)
        return lambda text: StreamedRows(
            open_reference(cells, reader.places, text, most)
        )
    with blobs.open(cells) as stream:
        if not is_parquet(stream):
            return partial(MemoryRows, read_bounded(stream, bounds))
    file = find_file(as_arrow(blobs.system), f"{blobs.root}/{cells}")
    return lambda text: StreamedRows(StreamedTable([file], text, bounds))


def predict(stored: Model, opening: Opening, raw: dict[str, Any]) -> Computing:
    order, ensemble = read_predict(raw, stored), stored.ensemble
    source = opening(find_text(ensemble, order))
    work = plan_prediction(ensemble, source, order, str)
    with ExitStack() as stack:
        # Without a name: nothing is left of them, whatever becomes of this process.
        streams = {form: stack.enter_context(TemporaryFile()) for form in TABLES}
        with ExitStack() as writing:
            files = [
                writing.enter_context(
                    open_stream(stream, len(order.keep), is_csv=form == "csv")
                )
                for form, stream in streams.items()
            ]
            written = yield from write_predictions(source, work, files)
        stack.pop_all()
    return JobOutput(streams, written.n_rows)


def evaluate(stored: Model, opening: Opening, raw: dict[str, Any]) -> Computing:
    order, ensemble = read_evaluate(raw, stored), stored.ensemble
    played, aims = order.played, list(order.aims)
    source = opening(columns_with_text(stored))
    work = plan_measuring(stored, source, order, str)
    found = yield from measure_source(source, work, order, str)
    asks = {"policy": list_policies(ensemble, played)}
    unit = ensemble.catalogue.cost_unit
    told = asks | curve_json(found.curve, unit, aims, found.early)
    laid = lay_out_curve(told)
    contents = {
        "json": json.dumps(told).encode(),
        "csv": to_csv(laid, int(bool(aims))).encode(),
        "parquet": to_parquet(laid),
    }
    streams = {form: io.BytesIO(content) for form, content in contents.items()}
    return JobOutput(streams, laid.num_rows)


WORK: dict[str, Callable[[Model, Opening, dict[str, Any]], Computing]] = {
    "predict": predict,
    "evaluate": evaluate,
}


def advance(
    db: Transaction, claimed: StoredTraining, step: JobStep, now: datetime
) -> bool:
    """Write how much is done; False where the job is cancelled by now."""
    if hold(db, claimed, now) is None:
        return False
    trainings.beat(db, claimed)
    trainings.change(db, claimed.id, share=step.share)
    more = {"state": "running", "attempt": claimed.attempt}
    trainings.add_event(db, claimed.id, "progress", now, step.share, **more)
    return True


def save(
    db: Transaction, claimed: StoredTraining, step: JobStep, now: datetime
) -> bool:
    """Write that there is a result; False where the job is cancelled by now."""
    found = hold(db, claimed, now, is_ended_too=True)
    if found is not None and found.state == "running":
        made = {"model_id": found.asked_model, "result": step.result, "error": None}
        trainings.end(db, found, "succeeded", now, share=1.0, **made)
    return found is not None
