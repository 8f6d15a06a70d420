"""The route by which a model goes on learning from labelled rows."""

from io import BytesIO
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from starlette.datastructures import UploadFile

from askless.app.documents.http import jobs as schemas
from askless.app.documents.learnt_rows import rows_to_csv
from askless.app.documents.shape import read_shape
from askless.app.documents.text import parse_json
from askless.app.http.plumbing.contract import problems
from askless.app.http.plumbing.deps import Db, Loaded, Now, ReplaysEarly, Uploads
from askless.app.http.plumbing.forms import missing_part
from askless.app.http.plumbing.orders import (
    Desk,
    Prepared,
    TableOrder,
    order_body,
    read_order,
)
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.service.jobs import learning as service

router = APIRouter(tags=["learning"], route_class=RetriedRoute)
# The OpenAPI document mentions them by name only.
DOCUMENTED = (schemas.LearnOrder, schemas.LearnCall)
ROWS_NAME = "rows.csv"


def take_rows(sent: TableOrder, raw: dict[str, Any]) -> TableOrder:
    """Return an order whose rows in JSON are an upload; remove them from `raw`."""
    call = read_shape(schemas.LearnCall, raw, "order")
    if (call.rows is None) == (call.dataset_id is None):
        raise missing_part("rows", "must be given, or else dataset_id, and not both")
    raw.pop("rows", None)
    if call.rows is None:
        return sent
    raw.pop("dataset_id", None)
    table = BytesIO(rows_to_csv(call.rows))
    return TableOrder(sent.text, UploadFile(table, filename=ROWS_NAME))


async def prepare(
    id: str,
    sent: Annotated[TableOrder, Depends(read_order("order"))],
    desk: Desk,
    loaded: Loaded,
) -> Prepared[service.JobOrder]:
    """Read and check rows for a model before the transaction begins."""
    raw = parse_json(sent.text, "order")
    if not isinstance(raw, dict):
        raise missing_part("order", "must be an object")
    if sent.upload is None:
        sent = take_rows(sent, raw)
    return await desk.read_job(
        sent, raw, "learn", lambda db: service.find_model(db, loaded, id)
    )


@router.post(
    "/models/{id}/learn",
    status_code=202,
    dependencies=[ReplaysEarly],
    openapi_extra=order_body("order", "LearnOrder", "LearnCall")
    | problems("limit-reached", "conflict"),
    operation_id="learn_rows",
    summary="Go on learning from labelled rows",
)
def learn_rows(
    id: str,
    prepared: Annotated[Prepared[service.JobOrder], Depends(prepare)],
    db: Db,
    blobs: Uploads,
    now: Now,
    response: Response,
) -> schemas.Job:
    """Check rows and enqueue the job that learns them, and makes the next version.

    The rows are JSON, a form with a table, or a stored dataset. A bare name goes on
    from its newest version, an id or `name@version` from that one. All rows are learnt
    or none; the version before stays.
    """
    dataset_id = prepared.store(db, blobs, now)
    job = service.start(db, id, prepared.order, dataset_id, now)
    response.headers["Location"] = f"/jobs/{job.id}"
    return schemas.Job.model_validate(job)
