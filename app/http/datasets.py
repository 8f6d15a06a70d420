"""Routes of datasets."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, BackgroundTasks, Depends, Request, Response
from starlette.datastructures import UploadFile

from app.documents.bodies import datasets as schemas
from app.http.contract import problems
from app.http.deps import After, Db, Limit, Now, ReadDb, Uploads
from app.http.forms import FORM, TABLE, read_form, required_file, schema_of
from app.service import datasets as service

router = APIRouter(prefix="/datasets", tags=["datasets"])

UPLOAD_BODY = {
    "requestBody": {
        "required": True,
        "content": {FORM: {"schema": schema_of(dataset=TABLE)}},
    }
}


async def read_upload(request: Request) -> AsyncIterator[UploadFile]:
    async with read_form(request) as form:
        yield required_file(form, "dataset")


@router.post(
    "",
    status_code=201,
    openapi_extra=UPLOAD_BODY | problems("limit-reached"),
    operation_id="upload_dataset",
    summary="Upload a dataset",
)
def create(
    upload: Annotated[UploadFile, Depends(read_upload)],
    db: Db,
    blobs: Uploads,
    now: Now,
    response: Response,
) -> schemas.Dataset:
    """Store a table, to train on it as often as wanted."""
    made = service.create(db, blobs, upload.filename, upload.file, now)
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
