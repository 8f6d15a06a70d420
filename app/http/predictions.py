"""Routes of sessions."""

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from app.documents.bodies import doubts
from app.documents.bodies import outcomes as told
from app.documents.bodies import predictions as schemas
from app.documents.bodies.terms import TermsRequest
from app.documents.fields import Key
from app.documents.words import SessionState
from app.http.contract import problems
from app.http.deps import (
    After,
    At,
    Changes,
    Db,
    ErasingDb,
    Limit,
    Loaded,
    LogFields,
    OurSettings,
    ReadDb,
    require_distinct,
)
from app.http.retries import RetriedRoute
from app.http.tags import IfMatch, IfNoneMatch, is_seen, read_versions
from app.records import SessionFilter
from app.service import predictions as service
from app.service.predictions import checks, lists, outcomes
from core.table.prices import from_micros

router = APIRouter(prefix="/predict", tags=["predict"], route_class=RetriedRoute)
TakesJson = Depends(require_distinct)
CREATED = 201
SESSION_ID = re.compile("ses_[0-9a-f]{24}")


async def get_call(id: str, request: Request, at: At) -> service.SessionCall:
    # What is no id may be anything, a patient's name too.
    if SESSION_ID.fullmatch(id):
        request.scope["log_fields"]["session"] = id
    return service.SessionCall(id, request.app.state.loaded, at)


Call = Annotated[service.SessionCall, Depends(get_call)]


async def get_change(call: Call, if_match: IfMatch = None) -> service.SessionCall:
    return call._replace(versions=None if if_match is None else read_versions(if_match))


Change = Annotated[service.SessionCall, Depends(get_change)]


def show(
    view: schemas.Session, fields: dict[str, object], status: int = 200
) -> Response:
    """Return a session as the response; tell the log of it.

    Written here, in the route's thread: FastAPI would go to another one to check it.
    """
    fields |= {
        "session": view.id,
        "model": view.model.id,
        "remaining": view.budget.remaining,
        "unit": view.budget.unit,
    }
    headers = {"ETag": f'"{view.version}"'}
    if status == CREATED:
        headers["Location"] = f"/predict/{view.id}"
    content = view.model_dump_json()
    return Response(content, status, headers, media_type="application/json")


@router.post(
    "",
    status_code=CREATED,
    response_model=schemas.Session,
    dependencies=[TakesJson],
    openapi_extra=problems("not-found", "limit-reached"),
    operation_id="start_session",
    summary="Start a session",
)
async def start(
    body: schemas.PredictRequest,
    change: Changes,
    loaded: Loaded,
    settings: OurSettings,
    at: At,
    fields: LogFields,
) -> Response:
    """Open a session. Nothing is charged until an answer comes."""
    return await change(
        lambda db: service.start(db, loaded, body, settings.max_refits, at),
        lambda opened: show(opened.view, fields, CREATED),
    )


@router.get("", operation_id="list_sessions", summary="List sessions, newest first")
def page(
    db: ReadDb,
    at: At,
    state: SessionState | None = None,
    model: Annotated[Key | None, Query(description="An id or a name.")] = None,
    client_ref: Key | None = None,
    limit: Limit = 50,
    after: After = None,
) -> schemas.SessionPage:
    """Sessions in a state, of a model, or of a case as the caller knows it."""
    meant = SessionFilter(state, model, client_ref)
    return lists.page(db, limit, after, at, meant)


@router.get(
    "/{id}",
    response_model=schemas.Session,
    operation_id="get_session",
    summary="Show a session",
)
def get(
    db: ReadDb, call: Call, fields: LogFields, if_none_match: IfNoneMatch = None
) -> Response:
    """Show a session; 304 where `If-None-Match` names its version.

    Not while it has prices of its own: what became of their training is no version.
    """
    view = service.get(db, call)
    response = show(view, fields)
    if view.prices is None and is_seen(str(view.version), if_none_match):
        return Response(status_code=304, headers={"ETag": response.headers["ETag"]})
    return response


@router.patch(
    "/{id}",
    response_model=schemas.Session,
    dependencies=[TakesJson],
    openapi_extra=problems("session-closed"),
    operation_id="change_session",
    summary="Change the budget or the aim",
)
def change_terms(
    body: TermsRequest, db: Db, call: Change, fields: LogFields
) -> Response:
    """Change the budget, never below what is spent, or what sessions are to reach."""
    return show(service.change_terms(db, call, body), fields)


@router.post(
    "/{id}/answers",
    response_model=schemas.Session,
    dependencies=[TakesJson],
    openapi_extra=problems("over-budget", "session-closed"),
    operation_id="answer_session",
    summary="Give answers",
)
async def answer(
    body: schemas.AnswersRequest, change: Changes, call: Change, fields: LogFields
) -> Response:
    """Take all answers or none; charges in list order.

    An answer that the session has already changes nothing: after a broken connection
    send the same request again.
    """

    def tell(done: tuple[service.OpenSession, int]) -> Response:
        opened, charged = done
        fields.update(features=len(body.answers), charged=from_micros(charged))
        return show(opened.view, fields)

    return await change(lambda db: service.answer(db, call, body.answers), tell)


@router.post(
    "/{id}/answers/check",
    dependencies=[TakesJson],
    openapi_extra=problems("over-budget", "session-closed"),
    operation_id="check_answers",
    summary="Try answers without giving them",
)
def check(body: schemas.AnswersRequest, db: ReadDb, call: Call) -> doubts.AnswersCheck:
    """What these answers would charge, and what is odd about them. Changes nothing.

    Answers that would be refused are refused here too.
    """
    return checks.check(db, call, body.answers)


@router.post(
    "/{id}/stop",
    response_model=schemas.Session,
    operation_id="stop_session",
    summary="Stop a session",
)
def stop(db: Db, call: Change, fields: LogFields) -> Response:
    """End a session; results that were ordered may still come in."""
    return show(service.stop(db, call), fields)


@router.put(
    "/{id}/outcome",
    dependencies=[TakesJson],
    openapi_extra=problems("session-closed"),
    operation_id="put_outcome",
    summary="Tell what came of the case",
)
def put_outcome(body: told.OutcomeRequest, db: Db, call: Call) -> told.SessionOutcome:
    """Record the true label, or correct it; sessions that are closed take it too.

    It is kept with what the session predicts at that moment, and counts in
    `GET /models/{id}/monitor`. The same again changes nothing.
    """
    return outcomes.put(db, call, body.label)


@router.get(
    "/{id}/outcome", operation_id="get_outcome", summary="Show what came of the case"
)
def get_outcome(db: ReadDb, call: Call) -> told.SessionOutcome:
    return outcomes.get(db, call)


@router.delete(
    "/{id}",
    status_code=204,
    response_class=Response,
    operation_id="erase_session",
    summary="Erase a session's answers",
)
def erase(db: ErasingDb, call: Change) -> None:
    """Close a session and erase its answers; the ledger keeps the amounts."""
    service.erase(db, call)
