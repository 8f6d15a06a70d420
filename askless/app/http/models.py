"""Routes of models."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BeforeValidator, Field

from askless.app.documents.http import models as schemas
from askless.app.documents.http import outcomes
from askless.app.documents.shape import Answer
from askless.app.documents.words import Spend
from askless.app.errors import ConflictError
from askless.app.http.plumbing.contract import problem_docs
from askless.app.http.plumbing.days import (
    Day,
    day_end,
    day_parameter,
    day_start,
    days_before,
)
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
    require_json,
)
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.http.plumbing.tags import (
    IfMatch,
    IfNoneMatch,
    entity_tag,
    read_tags,
    tagged_response,
)
from askless.app.http.plumbing.turns import read_in_turn
from askless.app.service import models as service
from askless.app.service.loop import monitor
from askless.core.catalogue.prices import MAX_UNITS, to_micros

router = APIRouter(prefix="/models", tags=["models"], route_class=RetriedRoute)
# Days that a monitor covers by default.
DAYS = 90

IMPORT_BODY = {
    "requestBody": {
        "required": True,
        "description": "A MODEL.json, as `askless train` or an export wrote it.",
        "content": {
            "application/json": {
                "schema": {"type": "object"},
                "examples": {"small": {"value": schemas.IMPORT_EXAMPLE}},
            }
        },
    }
}
EXPORT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "MODEL.json",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}


# In micro-units, from the query, which knows only text.
Budget = Annotated[
    int,
    BeforeValidator(
        to_micros, json_schema_input_type=Annotated[float, Field(ge=0, le=MAX_UNITS)]
    ),
]


@router.get("", operation_id="list_models", summary="List models, newest first")
def list_models(
    db: ReadDb, limit: Limit = 50, after: After = None
) -> schemas.ModelPage:
    return schemas.ModelPage.model_validate(service.page(db, limit, after))


async def read_document(request: Request, reader: Reader) -> service.CheckedModel:
    """Check the model of a request before its transaction begins, one at a time."""
    act = partial(service.check_model, await request.body(), reader.limits)
    return await read_in_turn(request, act, request.app.state.model_place)


@router.post(
    "",
    status_code=201,
    dependencies=[Depends(require_json), ReplaysEarly],
    openapi_extra=IMPORT_BODY | problem_docs("name-taken"),
    operation_id="import_model",
    summary="Import a model",
)
def import_model(
    model: Annotated[service.CheckedModel, Depends(read_document)],
    db: Db,
    now: Now,
    response: Response,
    as_version: Annotated[
        bool, Query(description="Where its name is taken, as the next version.")
    ] = False,
) -> schemas.ModelHead:
    """Store a MODEL.json of 32 MB at most; 409 if its name is taken.

    With `as_version` it is then the next version of its name.
    """
    head = service.import_model(db, model, now, as_version=as_version)
    response.headers["Location"] = f"/models/{head.id}"
    return schemas.ModelHead.model_validate(head)


@router.get(
    "/{id}",
    response_model=schemas.Model,
    operation_id="get_model",
    summary="Show a model: catalogue and card",
)
def get_model(
    id: str, db: ReadDb, loaded: Loaded, if_none_match: IfNoneMatch = None
) -> Response:
    return tagged_response(encode_json(service.get(db, loaded, id)), if_none_match)


@router.get(
    "/{id}/curve",
    response_model=schemas.Curve,
    operation_id="get_model_curve",
    summary="Error against budget",
)
def get_model_curve(
    id: str, db: ReadDb, loaded: Loaded, if_none_match: IfNoneMatch = None
) -> Response:
    """Show error and spend on held-out rows; 404 if the training had no validation."""
    return tagged_response(
        encode_json(service.get_curve(db, loaded, id)), if_none_match
    )


@router.get(
    "/{id}/plan",
    operation_id="get_model_plan",
    summary="The order of purchases on paper",
)
def get_model_plan(
    id: str,
    db: ReadDb,
    loaded: Loaded,
    budget: Annotated[
        Budget | None, Query(description="Without it, unlimited.", examples=[60.0])
    ] = None,
    spend: Annotated[
        Spend, Query(description="As in `stop` of a session.", examples=["all"])
    ] = "worthwhile",
) -> schemas.Plan:
    """List what a session with this budget buys, if every answer comes."""
    return service.get_plan(db, loaded, id, budget, spend)


@router.get(
    "/{id}/export",
    response_class=Response,
    responses=EXPORT,
    operation_id="export_model",
    summary="MODEL.json",
)
def export_model(id: str, db: ReadDb, if_none_match: IfNoneMatch = None) -> Response:
    """Download a model as MODEL.json, as the command line writes it."""
    stored = service.export(db, id)
    headers = {"Content-Disposition": 'attachment; filename="MODEL.json"'}
    return tagged_response(stored.document.encode(), if_none_match, headers)


@router.get(
    "/{id}/monitor",
    operation_id="get_model_monitor",
    summary="What became of its sessions over time",
)
def get_model_monitor(
    id: str,
    db: ReadDb,
    loaded: Loaded,
    at: At,
    first: Annotated[Day | None, day_parameter("from")] = None,
    last: Annotated[Day | None, day_parameter("to")] = None,
    bucket: outcomes.BucketSize = "week",
) -> outcomes.Monitor:
    """Show errors and calibration by outcomes, spend, refusals, and drift of answers.

    It covers sessions that began on these days, by default the last 90. Each figure
    has its number of cases and its 95 % interval.
    """
    until = last or at.now.date()
    span = monitor.Span(
        day_start(first or days_before(until, DAYS)), day_end(until), bucket
    )
    return monitor.compute_monitor(db, loaded, id, span, at)


@router.delete(
    "/{id}",
    status_code=204,
    response_class=Response,
    openapi_extra=problem_docs("model-in-use", "conflict"),
    operation_id="delete_model",
    summary="Delete a model",
)
def delete_model(
    id: str, db: Db, at: At, loaded: Loaded, if_match: IfMatch = None
) -> None:
    """Delete a model; 409 while one of its sessions is open or waiting.

    409 too while a challenger plays against it, which would take its name.
    """
    tags = None if if_match is None else read_tags(if_match)
    if (
        tags is not None
        and entity_tag(encode_json(service.get(db, loaded, id))) not in tags
    ):
        raise ConflictError("version-mismatch", "The model has another ETag.")
    service.delete(db, id, at)


@router.put(
    "/{id}/champion",
    openapi_extra=problem_docs("conflict"),
    operation_id="crown_model",
    summary="Make a model the champion of its name",
)
def crown_model(id: str, db: Db, now: Now) -> schemas.ModelHead:
    """Let the model's name without a version, and `name@champion`, mean this one.

    A challenger is promoted so; an open challenge of the name ends.
    """
    return schemas.ModelHead.model_validate(service.crown(db, id, now))


@router.delete(
    "/{id}/champion",
    status_code=204,
    response_class=Response,
    openapi_extra=problem_docs("conflict"),
    operation_id="dethrone_model",
    summary="Make a model no champion any more",
)
def dethrone_model(id: str, db: Db) -> None:
    """Let the model's name without a version mean the newest version again.

    409 while a challenge of the name is open.
    """
    service.dethrone(db, id)


def encode_json(view: Answer) -> bytes:
    return view.model_dump_json(by_alias=True).encode()
