"""Routes that start jobs: one for each kind that applies a model to a table."""

from io import BytesIO
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from starlette.datastructures import UploadFile

from askless.app.documents.http import jobs as schemas
from askless.app.documents.shape import read_shape
from askless.app.documents.sheets import rows_to_csv
from askless.app.documents.text import parse_json
from askless.app.errors import ForbiddenError
from askless.app.http.plumbing.auth import Called
from askless.app.http.plumbing.contract import problem_docs
from askless.app.http.plumbing.deps import Db, Loaded, Now, ReplaysEarly, Uploads
from askless.app.http.plumbing.forms import part_error
from askless.app.http.plumbing.orders import (
    Desk,
    Prepared,
    TableOrder,
    order_body,
    read_order,
)
from askless.app.service.jobs import table_jobs as service

READS = "datasets:read"
ROWS_NAME = "rows.csv"
Sent = Annotated[TableOrder, Depends(read_order("order"))]


def add_starts(router: APIRouter, *, makes_version: bool) -> tuple[type, ...]:
    """Add the routes that start jobs; return the bodies to document."""
    names = [
        name
        for name, kind in service.TABLE_KINDS.items()
        if kind.makes_version == makes_version
    ]
    for name in names:
        add_start(router, name)
    kinds = [service.TABLE_KINDS[name] for name in names]
    return tuple(body for kind in kinds for body in (kind.order, kind.call))


def add_start(router: APIRouter, name: Any) -> None:
    """Add the route that starts jobs of a kind."""
    kind = service.TABLE_KINDS[name]
    order, call = kind.order.__name__, kind.call.__name__

    @router.post(
        f"/models/{{id}}/{name}",
        status_code=202,
        dependencies=[ReplaysEarly],
        openapi_extra=order_body("order", order, call)
        | problem_docs("limit-reached", "conflict"),
        operation_id=kind.operation_id,
        summary=kind.summary,
        description=kind.description,
    )
    def start(
        id: str,
        prepared: Annotated[Prepared[service.JobOrder], prepare_order(name)],
        db: Db,
        blobs: Uploads,
        now: Now,
        response: Response,
    ) -> schemas.Job:
        dataset_id = prepared.store(db, blobs, now)
        job = service.start(db, prepared.order, dataset_id, now, id)
        response.headers["Location"] = f"/jobs/{job.id}"
        return schemas.Job.model_validate(job)


def prepare_order(name: Any) -> Any:
    """Depend on an order that is read and checked before the transaction begins."""
    makes_version = service.TABLE_KINDS[name].makes_version

    async def read_and_check(
        id: str, sent: Sent, desk: Desk, loaded: Loaded, caller: Called
    ) -> Prepared[service.JobOrder]:
        raw = parse_json(sent.text, "order")
        if not isinstance(raw, dict):
            raise part_error("order", "must be an object")
        if sent.upload is None and makes_version:
            sent = pop_rows(sent, raw)
        # The result would show columns of a table that the caller may not read.
        elif sent.upload is None and raw.get("keep") and READS not in caller.scopes:
            raise ForbiddenError(READS)

        return await desk.read_job(
            sent, raw, name, lambda db: service.find_model(db, loaded, id, name)
        )

    return Depends(read_and_check)


def pop_rows(sent: TableOrder, raw: dict[str, Any]) -> TableOrder:
    """Return an order whose rows in JSON are an upload; remove them from `raw`."""
    call = read_shape(schemas.LearnCall, raw, "order")
    if (call.rows is None) == (call.dataset_id is None):
        raise part_error("rows", "must be given, or else dataset_id, and not both")
    raw.pop("rows", None)
    if call.rows is None:
        return sent
    raw.pop("dataset_id", None)
    table = BytesIO(rows_to_csv(call.rows))
    return TableOrder(sent.text, UploadFile(table, filename=ROWS_NAME))
