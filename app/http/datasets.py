"""Routes of datasets."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated

from fastapi import APIRouter, BackgroundTasks, Depends, Request, Response

from app.documents.bodies import datasets as schemas
from app.http.contract import problems
from app.http.deps import (
    After,
    Db,
    Limit,
    Now,
    ReadDb,
    Reader,
    ReplaysEarly,
    Uploads,
)
from app.http.forms import FORM, TABLE, read_form, required_file, schema_of
from app.http.retries import RetriedRoute
from app.http.turns import in_turn
from app.service import datasets as service

router = APIRouter(prefix="/datasets", tags=["datasets"], route_class=RetriedRoute)

UPLOAD_BODY = {
    "requestBody": {
        "required": True,
        "content": {FORM: {"schema": schema_of(dataset=TABLE)}},
    }
}


async def read_upload(
    request: Request, reader: Reader
) -> AsyncIterator[service.Upload]:
    """Read a table before there is a transaction; none waits for that."""
    async with read_form(request) as form:
        part = required_file(form, "dataset")
        yield await in_turn(
            request, partial(service.read, reader, part.filename, part.file)
        )


@router.post(
    "",
    status_code=201,
    dependencies=[ReplaysEarly],
    openapi_extra=UPLOAD_BODY | problems("limit-reached"),
    operation_id="upload_dataset",
    summary="Upload a dataset",
)
def create(
    upload: Annotated[service.Upload, Depends(read_upload)],
    db: Db,
    blobs: Uploads,
    now: Now,
    response: Response,
) -> schemas.Dataset:
    """Store a table, to train on it as often as wanted."""
    made = service.store(db, blobs, upload, now)
    response.headers["Location"] = f"/datasets/{made.id}"
    return schemas.Dataset.model_validate(made)


@router.get("", operation_id="list_datasets", summary="List datasets, newest first")
def page(db: ReadDb, limit: Limit = 50, after: After = None) -> schemas.DatasetPage:
    found = service.page(db, limit, after)
    return schemas.DatasetPage.model_validate(found)


@router.get("/{id}", operation_id="get_dataset", summary="Show a dataset")
def get(id: str, db: ReadDb) -> schemas.Dataset:
    return schemas.Dataset.model_validate(service.get(db, id))


@router.delete(
    "/{id}",
    status_code=204,
    response_class=Response,
    openapi_extra=problems("dataset-in-use"),
    operation_id="delete_dataset",
    summary="Delete a dataset",
)
def delete(id: str, db: Db, blobs: Uploads, tasks: BackgroundTasks) -> None:
    """Delete a dataset; 409 while a training uses it. Models outlive it."""
    deleted = service.delete(db, id)
    # After the response, and so after the commit.
    tasks.add_task(blobs.remove, deleted.blob)
