"""Routes of datasets."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated

from fastapi import (
    APIRouter,
    BackgroundTasks,
    Depends,
    HTTPException,
    Request,
    Response,
)

from app.documents.http import datasets as schemas
from app.documents.shape import read_shape
from app.documents.text import parse_json
from app.http.plumbing.contract import problems
from app.http.plumbing.deps import (
    After,
    Db,
    Limit,
    Now,
    ReadDb,
    Reader,
    ReplaysEarly,
    Uploads,
)
from app.http.plumbing.forms import (
    FORM,
    TABLE,
    media_type,
    read_form,
    required_file,
    schema_of,
)
from app.http.plumbing.orders import JSON
from app.http.plumbing.retries import RetriedRoute
from app.http.plumbing.turns import in_turn
from app.service import datasets as service

router = APIRouter(prefix="/datasets", tags=["datasets"], route_class=RetriedRoute)

REFERENCE = {"$ref": "#/components/schemas/DatasetReference"}
UPLOAD_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            FORM: {"schema": schema_of(dataset=TABLE)},
            JSON: {"schema": REFERENCE},
        },
    }
}
# Its only mention in the document is by name.
DOCUMENTED = (schemas.DatasetReference,)


async def read_table(
    request: Request, reader: Reader
) -> AsyncIterator[service.Upload | service.Link]:
    """Read a table before there is a transaction; none waits for that."""
    if media_type(request.headers) == JSON:
        raw = parse_json(await request.body(), "dataset")
        sent = read_shape(schemas.DatasetReference, raw, "dataset")
        act = partial(service.refer, reader, sent.url, sent.name)
        yield await in_turn(request, act)
        return
    if media_type(request.headers) != FORM:
        accepted = f"{FORM}, {JSON}"
        detail = f"The body must be one of {accepted}."
        raise HTTPException(415, detail, headers={"Accept-Post": accepted})
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
    summary="Upload a dataset, or name one",
)
def create(
    table: Annotated[service.Upload | service.Link, Depends(read_table)],
    db: Db,
    blobs: Uploads,
    now: Now,
    response: Response,
) -> schemas.Dataset:
    """Store a table, to train on it as often as wanted.

    It is uploaded (multipart), or stays where it is, in Parquet files at a `url` that
    the service may read (JSON): of these only footers are read here.
    """
    if isinstance(table, service.Link):
        made = service.store_link(db, table, now)
    else:
        made = service.store(db, blobs, table, now)
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
