"""Routes of sessions."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from askless.app.documents.fields import Key
from askless.app.documents.http import doubts
from askless.app.documents.http import outcomes as told
from askless.app.documents.http import sessions as schemas
from askless.app.documents.http.terms import SessionChange
from askless.app.documents.words import SessionState
from askless.app.errors import ReplayedError
from askless.app.http.plumbing.buying.runs import (
    Prefer,
    read_wait,
    wait_for_run,
)
from askless.app.http.plumbing.contract import problem_docs
from askless.app.http.plumbing.deps import (
    After,
    At,
    Changes,
    Db,
    ErasingDb,
    JsonChanges,
    Limit,
    Loaded,
    LogFields,
    ReadDb,
    require_distinct,
)
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.http.plumbing.session_calls import Call, Change
from askless.app.http.plumbing.tags import IfNoneMatch, has_version
from askless.app.records import SessionFilter
from askless.app.service import sessions as service
from askless.app.service.buying import starts
from askless.app.service.sessions import answering, checks, lists, outcomes
from askless.app.service.sessions.opened import OpenSession
from askless.core.catalogue.prices import from_micros

router = APIRouter(prefix="/predict", tags=["predict"], route_class=RetriedRoute)
TakesJson = Depends(require_distinct)
CREATED, ACCEPTED = 201, 202


def respond_with_session(
    view: schemas.Session, fields: dict[str, Any], status: int = 200
) -> Response:
    """Return a session as the response; add its fields to the log.

    Written here, in the route's thread: FastAPI would go to another one to check it.
    """
    fields |= {
        "session": view.id,
        "model": view.model.id,
        "remaining": view.budget.remaining,
        "unit": view.budget.unit,
    }
    headers = {"ETag": f'"{view.version}"'}
    if status in (CREATED, ACCEPTED):
        headers["Location"] = f"/predict/{view.id}"
    content = view.model_dump_json()
    return Response(content, status, headers, media_type="application/json")


@router.post(
    "",
    status_code=CREATED,
    response_model=schemas.Session,
    responses={
        200: {"model": schemas.Session, "description": "A run that has ended by then."},
        202: {"model": schemas.Session, "description": "A run that buys by itself."},
    },
    openapi_extra=problem_docs("not-found", "limit-reached"),
    operation_id="start_session",
    summary="Start a session",
)
async def start_session(
    request: Request,
    body: schemas.PredictRequest,
    change: JsonChanges,
    loaded: Loaded,
    at: At,
    prefer: Prefer = None,
) -> Response:
    """Open a session. Nothing is charged until an answer comes.

    With `run` the service buys by itself: the answer is 202, or after `Prefer: wait=10`
    the session as it is by then, with 200 where it has ended.
    """
    if not body.run:
        return await change(
            lambda db: service.start(db, loaded, body, at),
            lambda opened: respond_with_session(opened.view, change.fields, CREATED),
        )
    wish = starts.RunStart(body, request.app.state.settings.provider_hosts)
    wait_s = read_wait(prefer)
    try:
        response = await change(
            lambda db: starts.start(db, loaded, wish, at),
            lambda opened: respond_with_session(opened.view, change.fields, ACCEPTED),
        )
    except ReplayedError as replayed:
        # The run that was started before is waited for, too.
        if not wait_s:
            raise
        again = Response(headers=replayed.answer.headers)
        response = await wait_for_run(request, change, again, wait_s)
        response.headers["Idempotent-Replayed"] = "true"
        return response
    return await wait_for_run(request, change, response, wait_s) if wait_s else response


@router.get("", operation_id="list_sessions", summary="List sessions, newest first")
def list_sessions(
    db: ReadDb,
    at: At,
    state: SessionState | None = None,
    model: Annotated[Key | None, Query(description="An id or a name.")] = None,
    client_ref: Key | None = None,
    limit: Limit = 50,
    after: After = None,
) -> schemas.SessionPage:
    """Sessions in a state, of a model, or of a case as the caller knows it."""
    filters = SessionFilter(state, model, client_ref)
    return lists.page(db, limit, after, at, filters)


@router.get(
    "/{id}",
    response_model=schemas.Session,
    operation_id="get_session",
    summary="Show a session",
)
def get_session(
    db: ReadDb, call: Call, fields: LogFields, if_none_match: IfNoneMatch = None
) -> Response:
    """Show a session; 304 where `If-None-Match` names its version."""
    view = service.get(db, call)
    response = respond_with_session(view, fields)
    if has_version(str(view.version), if_none_match):
        return Response(status_code=304, headers={"ETag": response.headers["ETag"]})
    return response


@router.patch(
    "/{id}",
    response_model=schemas.Session,
    openapi_extra=problem_docs("session-closed"),
    operation_id="change_session",
    summary="Change the budget, the aim or the run",
)
async def change_terms(
    body: SessionChange, change: JsonChanges, call: Change
) -> Response:
    """Change the budget, never below what is spent, or what sessions are to reach.

    A run can be paused, go on, or be handed to a person (`run`: null).
    """
    return await change(
        lambda db: starts.change(db, call, body),
        lambda opened: respond_with_session(opened.view, change.fields),
    )


@router.post(
    "/{id}/answers",
    response_model=schemas.Session,
    openapi_extra=problem_docs("over-budget", "useless-answer", "session-closed"),
    operation_id="answer_session",
    summary="Give answers",
)
async def answer_session(
    body: schemas.AnswersRequest, change: JsonChanges, call: Change
) -> Response:
    """Take all answers or none; charges in list order.

    An answer that the session has already changes nothing: after a broken connection
    send the same request again.
    """

    def tell(done: tuple[OpenSession, int]) -> Response:
        opened, charged = done
        facts = {"features": len(body.answers), "charged": from_micros(charged)}
        change.fields.update(facts)
        return respond_with_session(opened.view, change.fields)

    return await change(lambda db: answering.answer(db, call, body), tell)


@router.post(
    "/{id}/answers/check",
    dependencies=[TakesJson],
    openapi_extra=problem_docs("over-budget", "useless-answer", "session-closed"),
    operation_id="check_answers",
    summary="Try answers without giving them",
)
def check_answers(
    body: schemas.AnswersRequest, db: ReadDb, call: Call
) -> doubts.AnswersCheck:
    """What these answers would charge, and what is odd about them. Changes nothing.

    Answers that would be refused are refused here too.
    """
    return checks.check(db, call, body)


@router.post(
    "/{id}/stop",
    response_model=schemas.Session,
    operation_id="stop_session",
    summary="Stop a session",
)
async def stop_session(change: Changes, call: Change) -> Response:
    """End a session; results that were ordered may still come in."""
    return await change(
        lambda db: service.stop(db, call),
        lambda opened: respond_with_session(opened.view, change.fields),
    )


@router.put(
    "/{id}/outcome",
    dependencies=[TakesJson],
    openapi_extra=problem_docs("session-closed"),
    operation_id="put_outcome",
    summary="Tell what came of the case",
)
def put_outcome(body: told.OutcomeRequest, db: Db, call: Call) -> told.SessionOutcome:
    """Record the true label, or correct it; sessions that are closed take it too.

    It is kept with what the session predicts at that moment, and counts in
    `GET /models/{id}/monitor`. The same again changes nothing.
    """
    return outcomes.store_outcome(db, call, body.label)


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
def erase_session(db: ErasingDb, call: Change) -> None:
    """Close a session and erase its answers; the ledger keeps the amounts."""
    service.erase(db, call)
