"""Routes of FHIR; each call is one of the service, as a route of /predict is.

Problems are shown as OperationOutcomes; a statement says what the door can do.
"""

import json
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from askless.app.doors.fhir import vocabulary as words
from askless.app.doors.fhir.calls import FormContext, Turn, answer_call
from askless.app.doors.fhir.requests import read_response
from askless.app.doors.fhir.responses import (
    build_response,
    build_search_set,
    build_template,
)
from askless.app.doors.fhir.shapes import ShapeCheck
from askless.app.doors.fhir.vocabulary import (
    EXTENSIONS,
    MEDIA_TYPE,
    PROBLEM_SYSTEM,
    to_model_key,
    url_of,
)
from askless.app.errors import NotFoundError
from askless.app.http.plumbing.auth import needs
from askless.app.http.plumbing.deps import At, Changes, Loaded, ReadDb, require_json
from askless.app.http.plumbing.layers.translating import Translation
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.service import models
from askless.core.catalogue.prices import from_micros

Json = dict[str, Any]
# Types of issue of FHIR by our types of problems; others are `processing`.
ISSUES = {
    "invalid-request": "invalid",
    "unauthorized": "login",
    "forbidden": "forbidden",
    "not-found": "not-found",
    "method-not-allowed": "not-supported",
    "not-acceptable": "not-supported",
    "unsupported-media-type": "not-supported",
    "over-budget": "business-rule",
    "useless-answer": "business-rule",
    "session-closed": "expired",
    "version-mismatch": "conflict",
    "conflict": "conflict",
    "limit-reached": "throttled",
    "too-many-requests": "throttled",
    "too-large": "too-long",
    "internal": "exception",
    "unavailable": "transient",
}


def problem_to_response(document: Json, status: int, headers: Headers) -> Response:
    """Return the response of a problem, as an OperationOutcome."""
    del headers
    return Response(
        json.dumps(build_operation_outcome(document)), status, media_type=MEDIA_TYPE
    )


def build_operation_outcome(document: Json) -> Json:
    """Return a problem document as an OperationOutcome: an issue for each rule."""
    kind = str(document.get("type", "")).rpartition("/")[2]
    coding = {"system": PROBLEM_SYSTEM, "code": kind, "display": document["title"]}
    code = ISSUES.get(kind, "processing")
    rules = document.get("errors") or [{"rule": document.get("detail", "")}]
    issues = []
    for rule in rules:
        text = rule["rule"] or document["title"]
        details = {"coding": [coding], "text": text}
        issue: Json = {"severity": "error", "code": code, "details": details}
        if rule.get("field"):
            issue["expression"] = [rule["field"]]
        issues.append(issue)
    return {"resourceType": "OperationOutcome", "issue": issues}


TRANSLATION = Translation("/fhir", problem_to_response)


# A CapabilityStatement has a date; that of the door's last change.
DATE = "2026-11-26"


def capability_statement(base: str, version: str) -> Json:
    """Return the statement of `GET /fhir/metadata`."""
    operation = {"name": "next-question", "definition": words.NEXT_QUESTION}
    questionnaire = {
        "type": "Questionnaire",
        "interaction": [{"code": "read"}, {"code": "search-type"}],
        "searchParam": [{"name": "url", "type": "uri"}],
        "operation": [operation],
    }
    definitions = {"type": "StructureDefinition", "interaction": [{"code": "read"}]}
    return {
        "resourceType": "CapabilityStatement",
        "status": "active",
        "date": DATE,
        "kind": "instance",
        "software": {"name": "Askless", "version": version},
        "implementation": {"description": "Askless", "url": base},
        "fhirVersion": words.FHIR_VERSION,
        "format": ["json"],
        "rest": [{"mode": "server", "resource": [questionnaire, definitions]}],
    }


def structure_definition(name: str) -> Json:
    """Return the definition of one of our extensions."""
    extension = EXTENSIONS.get(name)
    if extension is None:
        raise NotFoundError("extension")
    element: Json = {
        "id": "Extension",
        "path": "Extension",
        "definition": extension.text,
    }
    value = {"id": "Extension.value[x]", "path": "Extension.value[x]"}
    parts = [
        element,
        {"id": "Extension.url", "path": "Extension.url", "fixedUri": url_of(name)},
    ]
    if extension.kind != "Extension":
        parts.append(value | {"type": [{"code": extension.kind}]})
    return {
        "resourceType": "StructureDefinition",
        "id": name,
        "url": url_of(name),
        "name": name.title().replace("-", ""),
        "status": "active",
        "date": DATE,
        "description": extension.text,
        "fhirVersion": words.FHIR_VERSION,
        "kind": "complex-type",
        "abstract": False,
        "context": [{"type": "element", "expression": extension.context}],
        "type": "Extension",
        "baseDefinition": f"{words.HL7}/Extension",
        "derivation": "constraint",
        "differential": {"element": parts},
    }


# A larger body is read in a thread, so that no other call waits for it.
SMALL_BYTES = 16_384
router = APIRouter(prefix="/fhir", route_class=RetriedRoute, include_in_schema=False)
open_router = APIRouter(prefix="/fhir", include_in_schema=False)


def add_to(app: FastAPI) -> None:
    app.state.fhir_shapes = ShapeCheck()
    app.include_router(open_router)
    app.include_router(router, dependencies=[needs("predict")])
    app.state.translations.append(TRANSLATION)


async def get_context(request: Request, loaded: Loaded, at: At) -> FormContext:
    address = request.app.state.settings.address or str(request.base_url)
    return FormContext(loaded, at, f"{address.rstrip('/')}/fhir")


Using = Annotated[FormContext, Depends(get_context)]


def resource(content: dict[str, Any], **headers: str) -> Response:
    return Response(json.dumps(content), headers=headers, media_type=MEDIA_TYPE)


@open_router.get("/metadata")
async def metadata(using: Using) -> Response:
    """Say what the door can do; anybody may know."""
    return resource(capability_statement(using.base, version("askless")))


@open_router.get("/StructureDefinition/{name}")
async def definition(name: str) -> Response:
    return resource(structure_definition(name))


@router.get("/Questionnaire")
def search_forms(db: ReadDb, using: Using, url: str | None = None) -> Response:
    """List the forms of models by their newest versions, or the one of an address."""
    forms = [build_template(head, using.base) for head in models.list_newest(db)]
    return resource(
        build_search_set([form for form in forms if url in (None, form["url"])])
    )


@router.get("/Questionnaire/{model}")
def get_form(model: str, db: ReadDb, using: Using) -> Response:
    """Show a model's form, which has no question before a session has begun."""
    head = models.get_head(db, to_model_key(model))
    return resource(build_template(head, using.base))


@router.post("/Questionnaire/$next-question")
async def answer_form(request: Request, change: Changes, using: Using) -> Response:
    """Take the answers so far, and give the form with the next question.

    The model is the one of the contained form, or of the session.
    """
    return await answer(request, change, using)


@router.post("/Questionnaire/{model}/$next-question")
async def next_question_of(
    model: str, request: Request, change: Changes, using: Using
) -> Response:
    """Do the same for the model of the address."""
    return await answer(request, change, using, to_model_key(model))


async def answer(
    request: Request, change: Changes, using: FormContext, key: str | None = None
) -> Response:
    await require_json(request)
    body = await request.body()
    shapes: ShapeCheck = request.app.state.fhir_shapes
    if len(body) <= SMALL_BYTES:
        sent = read_response(body, shapes)
    else:
        sent = await run_in_threadpool(read_response, body, shapes)

    def tell(turn: Turn) -> Response:
        response, view = build_response(turn.opened, sent.raw, using.base)
        change.fields.update(
            session=view.id,
            model=view.model.id,
            remaining=view.budget.remaining,
            unit=view.budget.unit,
            features=turn.n_answers,
            charged=from_micros(turn.charged),
        )
        return resource(response, ETag=f'W/"{view.version}"')

    return await change(lambda db: answer_call(db, using, key, sent), tell)
