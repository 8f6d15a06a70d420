"""Routes of jobs: a model applied to a whole table."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from fastapi import (
    APIRouter,
    BackgroundTasks,
    Depends,
    Query,
    Request,
    Response,
)
from fastapi.responses import StreamingResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent

from app.documents.http import jobs as schemas
from app.documents.text import parse_json
from app.errors import BlobGoneError, ConflictError
from app.http.plumbing import forms
from app.http.plumbing.contract import problems
from app.http.plumbing.deps import (
    After,
    Db,
    Limit,
    Loaded,
    Now,
    ReadDb,
    ReplaysEarly,
    Uploads,
)
from app.http.plumbing.following import ENDED, LastEvent, stream, unfinished
from app.http.plumbing.orders import (
    Desk,
    Prepared,
    TableOrder,
    Wanted,
    body_of,
    read_order,
)
from app.http.plumbing.retries import RetriedRoute
from app.records import JobKind
from app.service.datasets import TableSource
from app.service.jobs import table_jobs as service
from app.store.database.transactions import Transaction

router = APIRouter(tags=["jobs"], route_class=RetriedRoute)
CHUNK = 1 << 20
# Their only mention in the document is by name.
DOCUMENTED = (
    *(schemas.PredictOrder, schemas.PredictCall),
    *(schemas.EvaluateOrder, schemas.EvaluateCall),
)
MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
}
RESULT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The result.",
        "content": {
            "text/csv": {"schema": {"type": "string"}},
            "application/vnd.apache.parquet": {
                "schema": {"type": "string", "format": "binary"}
            },
            "application/json": {"schema": {"type": "object"}},
        },
    }
}
Sent = Annotated[TableOrder, Depends(read_order("order"))]
Form = Annotated[
    str | None,
    Query(
        max_length=20,
        description="csv or parquet, and json of `evaluate`.",
        examples=["csv"],
    ),
]


class StartedJob(NamedTuple):
    """What every route that starts a job does in its transaction."""

    db: Transaction
    blobs: Any
    now: datetime
    response: Response

    def tell(self, prepared: Prepared[service.JobOrder]) -> schemas.Job:
        db, blobs, now, response = self
        dataset_id = prepared.store(db, blobs, now)
        made = service.start(db, prepared.order, dataset_id, now)
        response.headers["Location"] = f"/jobs/{made.id}"
        return schemas.Job.model_validate(made)


async def get_started(
    db: Db, blobs: Uploads, now: Now, response: Response
) -> StartedJob:
    return StartedJob(db, blobs, now, response)


Started = Annotated[StartedJob, Depends(get_started)]


def prepare(kind: JobKind) -> Any:
    """Depend on an order that was read and checked before there is a transaction."""

    async def prepared(
        id: str, sent: Sent, desk: Desk, loaded: Loaded
    ) -> Prepared[service.JobOrder]:
        raw = parse_json(sent.text, "order")
        if not isinstance(raw, dict):
            raise forms.missing("order", "must be an object")

        def check(stream: TableSource, is_wanted: Wanted) -> tuple[Any, Any]:
            with desk.open() as db:
                model = service.find_model(db, loaded, id)
            order = service.JobOrder(kind, id, raw)
            return service.check(desk.reader, order, model, stream, is_wanted)

        return await desk.read(sent, raw, check)

    return Depends(prepared)


@router.post(
    "/models/{id}/predict",
    status_code=202,
    dependencies=[ReplaysEarly],
    openapi_extra=body_of("order", "PredictOrder", "PredictCall")
    | problems("limit-reached", "conflict"),
    operation_id="predict_table",
    summary="Predict the rows of a table",
)
def predict(
    prepared: Annotated[Prepared[service.JobOrder], prepare("predict")],
    started: Started,
) -> schemas.Job:
    """Check a table and enqueue the job that plays each row under its budget.

    The table is uploaded with the order (multipart), or was before (JSON with its
    `dataset_id`). Nothing is bought: the ledger has no entries of it.
    """
    return started.tell(prepared)


@router.post(
    "/models/{id}/evaluate",
    status_code=202,
    dependencies=[ReplaysEarly],
    openapi_extra=body_of("order", "EvaluateOrder", "EvaluateCall")
    | problems("limit-reached", "conflict"),
    operation_id="evaluate_model",
    summary="Measure a model on labelled rows",
)
def evaluate(
    prepared: Annotated[Prepared[service.JobOrder], prepare("evaluate")],
    started: Started,
) -> schemas.Job:
    """Check a labelled table and enqueue the job that measures error and spend.

    As for `predict`; the result is also had as JSON.
    """
    return started.tell(prepared)


@router.get("/jobs", operation_id="list_jobs", summary="List jobs, newest first")
def page(db: ReadDb, limit: Limit = 50, after: After = None) -> schemas.JobPage:
    """Predictions and measures of tables; trainings are under `/train`."""
    return schemas.JobPage.model_validate(service.page(db, limit, after))


@router.get("/jobs/{id}", operation_id="get_job", summary="Show a job")
def get(id: str, db: ReadDb, now: Now) -> schemas.ShownJob:
    return service.show(db, id, now)


@router.get(
    "/jobs/{id}/result",
    response_class=Response,
    responses=RESULT,
    openapi_extra=problems("conflict"),
    operation_id="get_job_result",
    summary="The result of a job",
)
def result(id: str, db: ReadDb, blobs: Uploads, format: Form = None) -> Response:
    """What the job came to; 409 while there is none."""
    name, form = service.find_result(db, id, format)
    try:
        opened = blobs.open(name)
    except BlobGoneError:
        raise ConflictError("conflict", "The file of this result is gone.") from None

    def chunks() -> Iterator[bytes]:
        with opened:
            while chunk := opened.read(CHUNK):
                yield chunk

    headers = {"Content-Disposition": f'attachment; filename="{id}.{form}"'}
    return StreamingResponse(chunks(), media_type=MEDIA_TYPES[form], headers=headers)


@router.post(
    "/jobs/{id}/cancel",
    openapi_extra=problems("conflict"),
    operation_id="cancel_job",
    summary="Cancel a job",
)
def cancel(id: str, db: Db, now: Now) -> schemas.Job:
    """Cancel at once what is queued, within some seconds what runs."""
    return schemas.Job.model_validate(service.cancel(db, id, now))


@router.get(
    "/jobs/{id}/events",
    response_class=EventSourceResponse,
    responses=ENDED,
    operation_id="follow_job",
    summary="Follow a job",
)
async def events(
    id: Annotated[str, Depends(unfinished(service.get))],
    request: Request,
    last_event_id: LastEvent = 0,
) -> AsyncIterator[ServerSentEvent]:
    """Stream the events of a job until it has ended."""
    async for event in stream(request, id, last_event_id):
        yield event


@router.delete(
    "/jobs/{id}",
    status_code=204,
    response_class=Response,
    openapi_extra=problems("conflict"),
    operation_id="delete_job",
    summary="Delete a job",
)
def delete(id: str, db: Db, blobs: Uploads, tasks: BackgroundTasks) -> None:
    """Delete a job that has ended, and its result. The dataset stays."""
    for name in service.delete(db, id):
        # After the response, and so after the commit.
        tasks.add_task(blobs.remove, name)
