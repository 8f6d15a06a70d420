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

from askless.app.documents.http import datasets as schemas
from askless.app.documents.shape import read_shape
from askless.app.documents.text import parse_json
from askless.app.http.plumbing.auth import Called, require_scope
from askless.app.http.plumbing.contract import problem_docs
from askless.app.http.plumbing.deps import (
    After,
    At,
    Db,
    Limit,
    Loaded,
    Now,
    ReadDb,
    Reader,
    ReplaysEarly,
    Uploads,
    read_db,
)
from askless.app.http.plumbing.forms import (
    FORM,
    TABLE,
    form_schema,
    media_type,
    read_form,
    required_file,
)
from askless.app.http.plumbing.orders import JSON
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.http.plumbing.turns import read_in_turn
from askless.app.records import Caller, Moment
from askless.app.service import datasets as service
from askless.app.service.loaded import LoadedModels
from askless.app.service.loop.case_tables import make_table, write_table
from askless.app.service.loop.cases import CaseSpan, find_cases, query_of

router = APIRouter(prefix="/datasets", tags=["datasets"], route_class=RetriedRoute)

REFERENCE = {"$ref": "#/components/schemas/DatasetReference"}
# What a table of cases repeats is read by this scope elsewhere.
CASE_SCOPE = "predict:read"
CASES = {"$ref": "#/components/schemas/CasesRequest"}
UPLOAD_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            FORM: {"schema": form_schema(dataset=TABLE)},
            JSON: {
                "schema": {"anyOf": [REFERENCE, CASES]},
                "examples": {
                    "in_place": {"value": {"url": schemas.EXAMPLE_URL}},
                    "cases": {"value": {"cases_of": "heart-cleveland"}},
                },
            },
        },
    }
}
# The OpenAPI document mentions it by name only.
DOCUMENTED = (schemas.DatasetReference, schemas.CasesRequest)


async def read_table(
    request: Request, reader: Reader, caller: Called, loaded: Loaded, at: At
) -> AsyncIterator[service.Upload | service.Link]:
    """Read the table of a request before its transaction begins."""
    if media_type(request.headers) == JSON:
        raw = parse_json(await request.body(), "dataset")
        if isinstance(raw, dict) and "cases_of" in raw:
            read = read_shape(schemas.CasesRequest, raw, "dataset")
            yield await read_in_turn(
                request, partial(collect_cases, request, caller, loaded, read, at)
            )
            return
        reference = read_shape(schemas.DatasetReference, raw, "dataset")
        act = partial(service.link_table, reader, reference.url, reference.name)
        yield await read_in_turn(request, act)
        return
    if media_type(request.headers) != FORM:
        accepted = f"{FORM}, {JSON}"
        detail = f"The body must be one of {accepted}."
        raise HTTPException(415, detail, headers={"Accept-Post": accepted})
    async with read_form(request) as form:
        part = required_file(form, "dataset")
        yield await read_in_turn(
            request, partial(service.read_upload, reader, part.filename, part.file)
        )


def collect_cases(
    request: Request,
    caller: Caller,
    loaded: LoadedModels,
    read: schemas.CasesRequest,
    at: Moment,
    is_wanted: service.IsWanted,
) -> service.Upload:
    """Make a table of closed cases; the caller must be allowed to read sessions."""
    del is_wanted
    require_scope(caller, CASE_SCOPE)
    span = CaseSpan(read.since, read.until)
    with read_db(request.app.state.engine, caller.tenant_id) as db:
        query = query_of(db, read.cases_of, span)
        table = make_table(find_cases(db, loaded, query, at))
    stream, facts = write_table(table)
    return service.make_upload(read.name or f"cases of {read.cases_of}", stream, facts)


@router.post(
    "",
    status_code=201,
    dependencies=[ReplaysEarly],
    openapi_extra=UPLOAD_BODY | problem_docs("limit-reached", "not-found"),
    operation_id="upload_dataset",
    summary="Upload a dataset, or name one",
)
def upload_dataset(
    table: Annotated[service.Upload | service.Link, Depends(read_table)],
    db: Db,
    blobs: Uploads,
    now: Now,
    response: Response,
) -> schemas.Dataset:
    """Store a table, to train on it any number of times.

    It is uploaded (multipart), or stays where it is, in Parquet files at a `url` that
    the service may read (JSON). Of such files only the footers are read now. Or it is
    made of logged cases (JSON with `cases_of`): a copy of what was answered, with the
    true labels. For these a key needs `predict:read`, too.
    """
    if isinstance(table, service.Link):
        stored = service.store_link(db, table, now)
    else:
        stored = service.store(db, blobs, table, now)
    response.headers["Location"] = f"/datasets/{stored.id}"
    return schemas.Dataset.model_validate(stored)


@router.get("", operation_id="list_datasets", summary="List datasets, newest first")
def list_datasets(
    db: ReadDb, limit: Limit = 50, after: After = None
) -> schemas.DatasetPage:
    return schemas.DatasetPage.model_validate(service.page(db, limit, after))


@router.get("/{id}", operation_id="get_dataset", summary="Show a dataset")
def get_dataset(id: str, db: ReadDb) -> schemas.Dataset:
    return schemas.Dataset.model_validate(service.get(db, id))


@router.delete(
    "/{id}",
    status_code=204,
    response_class=Response,
    openapi_extra=problem_docs("dataset-in-use"),
    operation_id="delete_dataset",
    summary="Delete a dataset",
)
def delete_dataset(id: str, db: Db, blobs: Uploads, tasks: BackgroundTasks) -> None:
    """Delete a dataset; 409 while a training uses it. Models outlive it."""
    deleted = service.delete(db, id)
    # After the response, and so after the commit.
    tasks.add_task(blobs.remove, deleted.blob)
