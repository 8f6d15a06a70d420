"""Routes of FHIR; each call is one of the service, as a route of /predict is."""

import json
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool

from askless.app.doors.fhir.capabilities import (
    capability_statement,
    structure_definition,
)
from askless.app.doors.fhir.cases import FormContext, Turn, play
from askless.app.doors.fhir.outcomes import TRANSLATION
from askless.app.doors.fhir.requests import read_response
from askless.app.doors.fhir.responses import show, template_of
from askless.app.doors.fhir.shapes import ShapeCheck
from askless.app.doors.fhir.vocabulary import MEDIA_TYPE, to_model_key
from askless.app.http.plumbing.auth import needs
from askless.app.http.plumbing.deps import (
    At,
    Changes,
    Loaded,
    ReadDb,
    require_json,
)
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.service import models
from askless.core.catalogue.prices import from_micros

# A larger body is read in a thread, so that no other call waits for it.
SMALL_BYTES = 16_384
router = APIRouter(prefix="/fhir", route_class=RetriedRoute, include_in_schema=False)
open_router = APIRouter(prefix="/fhir", include_in_schema=False)


def add_to(app: FastAPI) -> None:
    """Add the door to an application."""
    app.state.fhir_shapes = ShapeCheck()
    app.include_router(open_router)
    app.include_router(router, dependencies=[needs("predict")])
    app.state.translations.append(TRANSLATION)


async def get_base(request: Request) -> str:
    """Return the address of the door, as callers know it."""
    address = request.app.state.settings.address or str(request.base_url)
    return f"{address.rstrip('/')}/fhir"


Base = Annotated[str, Depends(get_base)]


def resource(content: dict[str, Any], **headers: str) -> Response:
    return Response(json.dumps(content), headers=headers, media_type=MEDIA_TYPE)


@open_router.get("/metadata")
async def metadata(base: Base) -> Response:
    """Say what the door can do; anybody may know."""
    return resource(capability_statement(base, version("askless")))


@open_router.get("/StructureDefinition/{name}")
async def definition(name: str) -> Response:
    return resource(structure_definition(name))


@router.get("/Questionnaire/{model}")
def get_form(model: str, db: ReadDb, base: Base) -> Response:
    """Show a model's form, which has no question before a session has begun."""
    head = models.get_head(db, to_model_key(model))
    return resource(template_of(head, base))


@router.post("/Questionnaire/$next-question")
async def next_question(
    request: Request,
    change: Changes,
    loaded: Loaded,
    at: At,
    base: Base,
) -> Response:
    """Take the answers so far, and give the form with the next question.

    The model is the one of the contained form, or of the session.
    """
    return await answer(request, change, FormContext(loaded, at), base)


@router.post("/Questionnaire/{model}/$next-question")
async def next_question_of(
    model: str,
    request: Request,
    change: Changes,
    loaded: Loaded,
    at: At,
    base: Base,
) -> Response:
    """Do the same for the model of the address."""
    using = FormContext(loaded, at)
    return await answer(request, change, using, base, to_model_key(model))


async def answer(
    request: Request,
    change: Changes,
    using: FormContext,
    base: str,
    key: str | None = None,
) -> Response:
    await require_json(request)
    body = await request.body()
    shapes: ShapeCheck = request.app.state.fhir_shapes
    if len(body) <= SMALL_BYTES:
        sent = read_response(body, shapes)
    else:
        sent = await run_in_threadpool(read_response, body, shapes)

    def tell(turn: Turn) -> Response:
        response, view = show(turn.opened, sent.raw, base)
        change.fields.update(
            session=view.id,
            model=view.model.id,
            remaining=view.budget.remaining,
            unit=view.budget.unit,
            features=turn.n_answers,
            charged=from_micros(turn.charged),
        )
        return resource(response, ETag=f'W/"{view.version}"')

    return await change(lambda db: play(db, using, key, sent), tell)
