"""Routes of trainings."""

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, aclosing
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, HTTPException, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.datastructures import UploadFile

from app.documents.bodies import trainings as schemas
from app.documents.spec import SpecDocument
from app.documents.text import parse_spec
from app.errors import NothingToComeError
from app.http import forms
from app.http.auth import Called
from app.http.contract import problems
from app.http.deps import (
    After,
    Db,
    Engine,
    Limit,
    Now,
    ReadDb,
    Reader,
    Uploads,
    reading,
)
from app.http.turns import in_turn
from app.http.watch import Events, Watch
from app.records import FINAL_STATES
from app.service import datasets
from app.service import trainings as service

router = APIRouter(prefix="/train", tags=["trainings"])

JSON = "application/json"
RETRY_MS = 1000
# Their only mention in the document is the one below.
DOCUMENTED = (SpecDocument, schemas.TrainingOrder, schemas.TrainingEvent)
START_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            forms.FORM: {
                "schema": forms.schema_of(
                    dataset=forms.TABLE,
                    spec={"$ref": "#/components/schemas/SpecDocument"},
                ),
                "encoding": {"spec": {"contentType": JSON}},
            },
            JSON: {"schema": {"$ref": "#/components/schemas/TrainingOrder"}},
        },
    }
}
STARTED: dict[int | str, dict[str, Any]] = {
    200: {"model": schemas.Verdict, "description": "With `validate_only`."}
}


@dataclass(frozen=True)
class TrainingRequest:
    """A request to train, as it came: the table is an upload, or is stored."""

    spec: bytes
    upload: UploadFile | None


async def read_sent(request: Request) -> AsyncIterator[TrainingRequest]:
    if forms.media_type(request.headers) == forms.FORM:
        async with forms.read_form(request) as form:
            spec = form.get("spec")
            if spec is None:
                raise forms.missing("spec", "must be a part of the form")
            text = await forms.read_text(request, spec)
            yield TrainingRequest(text, forms.required_file(form, "dataset"))
    elif forms.media_type(request.headers) == JSON:
        yield TrainingRequest(await request.body(), None)
    else:
        accepted = f"{forms.FORM}, {JSON}"
        detail = f"The body must be one of {accepted}."
        raise HTTPException(415, detail, headers={"Accept-Post": accepted})


ValidateOnly = Annotated[bool, Query(description="Check everything, store nothing.")]


@dataclass(frozen=True)
class Prepared:
    """A request to train whose table and spec were read: an order, or a verdict."""

    order: service.Order | schemas.Verdict
    upload: datasets.Upload | None = None
    dataset_id: str | None = None


async def prepare(
    sent: Annotated[TrainingRequest, Depends(read_sent)],
    request: Request,
    reader: Reader,
    caller: Called,
    validate_only: ValidateOnly = False,
) -> Prepared:
    """Read and check a table before there is a transaction; none waits for that."""
    state = request.app.state

    def read(is_wanted: Callable[[], bool]) -> Prepared:
        raw = parse_spec(sent.spec)
        dataset_id = None
        with ExitStack() as stack:
            if sent.upload is None:
                dataset_id = pop_dataset_id(raw)
                with reading(state.engine, caller.tenant_id) as db:
                    stream = datasets.open_blob(db, state.blobs, dataset_id)
                stack.enter_context(stream)
            else:
                stream = sent.upload.file
            check = partial(service.check, reader, raw, stream, is_wanted)
            if validate_only:
                return Prepared(service.validate(check))
            order, facts = check()
        if sent.upload is None:
            return Prepared(order, dataset_id=dataset_id)
        upload = datasets.make_upload(sent.upload.filename, sent.upload.file, facts)
        return Prepared(order, upload)

    return await in_turn(request, read)


@router.post(
    "",
    status_code=202,
    responses=STARTED,
    openapi_extra=START_BODY | problems("not-found", "limit-reached", "conflict"),
    response_model=schemas.Training,
    operation_id="start_training",
    summary="Train a model",
)
def start(
    prepared: Annotated[Prepared, Depends(prepare)],
    db: Db,
    blobs: Uploads,
    now: Now,
    response: Response,
) -> schemas.Training | Response:
    """Check a spec and a table, and enqueue the training.

    The table is uploaded with the spec (multipart), or was before (JSON with its
    `dataset_id`).
    """
    order, dataset_id = prepared.order, prepared.dataset_id
    if isinstance(order, schemas.Verdict):
        return Response(order.model_dump_json(), media_type=JSON)
    if prepared.upload is not None:
        dataset_id = datasets.store(db, blobs, prepared.upload, now).id
    assert dataset_id is not None, "what is no upload was stored before"
    made = service.start(db, order, dataset_id, now)
    response.headers["Location"] = f"/train/{made.id}"
    return schemas.Training.model_validate(made)


def pop_dataset_id(raw: dict[str, Any]) -> str:
    dataset_id = raw.pop("dataset_id", None)
    if not isinstance(dataset_id, str):
        raise forms.missing("dataset_id", "must be the id of a dataset")
    return dataset_id


@router.get("", operation_id="list_trainings", summary="List trainings, newest first")
def page(db: ReadDb, limit: Limit = 50, after: After = None) -> schemas.TrainingPage:
    found = service.page(db, limit, after)
    return schemas.TrainingPage.model_validate(found)


@router.get("/{id}", operation_id="get_training", summary="Show a training")
def get(id: str, db: ReadDb) -> schemas.TrainingWithSpec:
    return schemas.TrainingWithSpec.model_validate(service.get(db, id))


@router.post(
    "/{id}/cancel",
    openapi_extra=problems("training-finished"),
    operation_id="cancel_training",
    summary="Cancel a training",
)
def cancel(id: str, db: Db, now: Now) -> schemas.Training:
    """Cancel at once what is queued, within one step what runs."""
    return schemas.Training.model_validate(service.cancel(db, id, now))


LastEvent = Annotated[int, Header(ge=0, description="Go on after this event.")]


def unfinished(
    id: str, engine: Engine, caller: Called, last_event_id: LastEvent = 0
) -> str:
    """Answer 404 or 204 before the stream begins; keeps no connection while it lasts.

    204 tells a browser that resumes not to come back.
    """
    with reading(engine, caller.tenant_id) as db:
        is_resumed = last_event_id > 0
        if service.get(db, id).state in FINAL_STATES and is_resumed:
            to_come = service.events(db, {id: last_event_id})[id]
            if not to_come:
                raise NothingToComeError
    return id


def get_watch(request: Request) -> Watch:
    """Return the process's watch, which is made when it is first needed."""
    state = request.app.state

    def fetch(numbers: dict[str, int]) -> Events:
        with reading(state.engine, None) as db:
            return service.events(db, numbers)

    if not hasattr(state, "watch"):
        state.watch = Watch(fetch, lambda: bool(state.stopping))
    watch: Watch = state.watch
    return watch


@router.get(
    "/{id}/events",
    response_class=EventSourceResponse,
    responses={204: {"description": "It has ended, and nothing comes any more."}},
    operation_id="follow_training",
    summary="Follow a training",
)
async def events(
    id: Annotated[str, Depends(unfinished)],
    request: Request,
    last_event_id: LastEvent = 0,
) -> AsyncIterator[ServerSentEvent]:
    """Stream the events of a training until it has ended."""
    async with aclosing(get_watch(request).follow(id, last_event_id)) as followed:
        async for event in followed:
            data = {**event.data, "at": event.at.isoformat()}
            yield ServerSentEvent(
                data=schemas.TrainingEvent.model_validate(data),
                event=event.type,
                id=str(event.number),
                retry=RETRY_MS,
            )
