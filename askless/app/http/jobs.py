"""Routes of jobs: a model applied to a whole table."""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, BackgroundTasks, Depends, Query, Response
from fastapi.responses import StreamingResponse

from askless.app.documents.http import jobs as schemas
from askless.app.documents.sheets import quote_file
from askless.app.documents.text import parse_json
from askless.app.errors import BlobGoneError, ConflictError, ForbiddenError
from askless.app.http.plumbing import forms
from askless.app.http.plumbing.auth import Called
from askless.app.http.plumbing.contract import problems
from askless.app.http.plumbing.deps import (
    Db,
    Loaded,
    Now,
    Raw,
    ReadDb,
    ReplaysEarly,
    Uploads,
)
from askless.app.http.plumbing.job_routes import add_job_routes
from askless.app.http.plumbing.orders import (
    Desk,
    Prepared,
    TableOrder,
    order_body,
    read_order,
)
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.records import JobKind
from askless.app.service.jobs import table_jobs as service

router = APIRouter(tags=["jobs"], route_class=RetriedRoute)
CHUNK = 1 << 20
READS = "datasets:read"
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


class StartRoute(NamedTuple):
    """The route that starts jobs of a kind: its bodies and its documentation."""

    kind: JobKind
    #: the order in a form with a table, and the JSON that names a dataset
    order: type[schemas.Order]
    call: type[schemas.Order]
    operation_id: str
    summary: str
    description: str


STARTS = (
    StartRoute(
        "predict",
        schemas.PredictOrder,
        schemas.PredictCall,
        "predict_table",
        "Predict the rows of a table",
        "Check a table and enqueue the job that plays each row under its budget.\n\n"
        "The table is uploaded with the order (multipart), or was before (JSON with "
        "its\n`dataset_id`). Nothing is bought: the ledger has no entries of it.",
    ),
    StartRoute(
        "evaluate",
        schemas.EvaluateOrder,
        schemas.EvaluateCall,
        "evaluate_model",
        "Measure a model on labelled rows",
        "Check a labelled table and enqueue the job that measures error and spend.\n\n"
        "As for `predict`; the result is also had as JSON.",
    ),
)
# The OpenAPI document mentions them by name only.
DOCUMENTED = tuple(one for start in STARTS for one in (start.order, start.call))


def prepare(kind: JobKind) -> Any:
    """Depend on an order that is read and checked before the transaction begins."""

    async def read_and_check(
        id: str, sent: Sent, desk: Desk, loaded: Loaded, caller: Called
    ) -> Prepared[service.JobOrder]:
        raw = parse_json(sent.text, "order")
        if not isinstance(raw, dict):
            raise forms.missing_part("order", "must be an object")
        # The result would show columns of a table that the caller may not read.
        if sent.upload is None and raw.get("keep") and READS not in caller.scopes:
            raise ForbiddenError(READS)

        return await desk.read_job(
            sent, raw, kind, lambda db: service.find_model(db, loaded, id)
        )

    return Depends(read_and_check)


def add_start(route: StartRoute) -> None:
    """Add the route that starts jobs of a kind."""
    order, call = route.order.__name__, route.call.__name__

    @router.post(
        f"/models/{{id}}/{route.kind}",
        status_code=202,
        dependencies=[ReplaysEarly],
        openapi_extra=order_body("order", order, call)
        | problems("limit-reached", "conflict"),
        operation_id=route.operation_id,
        summary=route.summary,
        description=route.description,
    )
    def start(
        prepared: Annotated[Prepared[service.JobOrder], prepare(route.kind)],
        db: Db,
        blobs: Uploads,
        now: Now,
        response: Response,
    ) -> schemas.Job:
        dataset_id = prepared.store(db, blobs, now)
        job = service.start(db, prepared.order, dataset_id, now)
        response.headers["Location"] = f"/jobs/{job.id}"
        return schemas.Job.model_validate(job)


for one in STARTS:
    add_start(one)
add_job_routes(
    router,
    "/jobs",
    service.NOUN,
    schemas.Job,
    schemas.JobPage,
    about="Predictions and measures of tables; trainings are under `/train`.",
)


@router.get(
    "/jobs/{id}/result",
    response_class=Response,
    responses=RESULT,
    openapi_extra=problems("conflict"),
    operation_id="get_job_result",
    summary="The result of a job",
)
def get_job_result(
    id: str, db: ReadDb, blobs: Uploads, format: Form = None, raw: Raw = False
) -> Response:
    """Download a job's result; 409 while there is none."""
    name, form = service.find_result(db, id, format)
    try:
        file = blobs.open(name)
    except BlobGoneError:
        raise ConflictError("conflict", "The file of this result is gone.") from None

    def chunks() -> Iterator[bytes]:
        with file:
            if form == "csv" and not raw:
                yield from quote_file(file)
            while chunk := file.read(CHUNK):
                yield chunk

    headers = {"Content-Disposition": f'attachment; filename="{id}.{form}"'}
    return StreamingResponse(chunks(), media_type=MEDIA_TYPES[form], headers=headers)


@router.delete(
    "/jobs/{id}",
    status_code=204,
    response_class=Response,
    openapi_extra=problems("conflict"),
    operation_id="delete_job",
    summary="Delete a job",
)
def delete_job(id: str, db: Db, blobs: Uploads, tasks: BackgroundTasks) -> None:
    """Delete a job that has ended, and its result. The dataset stays."""
    for name in service.delete(db, id):
        # After the response, and so after the commit.
        tasks.add_task(blobs.remove, name)
