"""Routes of jobs: a model applied to a whole table."""

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, BackgroundTasks, Query, Response
from fastapi.responses import StreamingResponse

from askless.app.documents.http import jobs as schemas
from askless.app.documents.sheets import quote_file
from askless.app.errors import BlobGoneError, ConflictError
from askless.app.http.plumbing.contract import problem_docs
from askless.app.http.plumbing.deps import Db, Raw, ReadDb, Uploads
from askless.app.http.plumbing.job_routes import add_job_routes
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.http.plumbing.starts import add_starts
from askless.app.service.jobs import table_jobs as service

router = APIRouter(tags=["jobs"], route_class=RetriedRoute)
CHUNK = 1 << 20
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
Form = Annotated[
    str | None,
    Query(
        max_length=20,
        description="csv or parquet, and json of `evaluate`.",
        examples=["csv"],
    ),
]
DOCUMENTED = add_starts(router, makes_version=False)
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
    openapi_extra=problem_docs("conflict"),
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
    openapi_extra=problem_docs("conflict"),
    operation_id="delete_job",
    summary="Delete a job",
)
def delete_job(id: str, db: Db, blobs: Uploads, tasks: BackgroundTasks) -> None:
    """Delete a job that has ended, and its result. The dataset stays."""
    for name in service.delete(db, id):
        # After the response, and so after the commit.
        tasks.add_task(blobs.remove, name)
