"""Routes of sessions."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Response

from app.documents.bodies import predictions as schemas
from app.http.deps import (
    After,
    Db,
    Limit,
    Loaded,
    LogFields,
    Now,
    ReadDb,
    Settings,
    require_distinct,
)
from app.service import predictions as service
from core.table.prices import from_micros

router = APIRouter(prefix="/predict", tags=["predict"])
TakesJson = Depends(require_distinct)
CREATED = 201


async def get_moment(now: Now, settings: Settings) -> service.Moment:
    return service.Moment(now, timedelta(seconds=settings.session_ttl_s))


At = Annotated[service.Moment, Depends(get_moment)]
IfMatch = Annotated[
    str | None,
    Header(
        pattern=r'^"[0-9]{1,9}"$',
        description="Refuse (412) unless the session is at this version.",
        examples=['"5"'],
    ),
]


def show(
    view: schemas.Session, fields: dict[str, object], status: int = 200
) -> Response:
    """Return a session as the response; tell the log of it.

    Written here, in the route's thread: FastAPI would go to another one to check it.
    """
    fields |= {"session": view.id, "remaining": view.budget.remaining}
    headers = {"ETag": f'"{view.version}"'}
    if status == CREATED:
        headers["Location"] = f"/predict/{view.id}"
    content = view.model_dump_json()
    return Response(content, status, headers, media_type="application/json")


def version_of(if_match: str | None) -> int | None:
    return None if if_match is None else int(if_match.strip('"'))


@router.post(
    "",
    status_code=CREATED,
    response_model=schemas.Session,
    dependencies=[TakesJson],
    summary="Start a session",
)
def start(
    body: schemas.PredictRequest, db: Db, loaded: Loaded, now: Now, fields: LogFields
) -> Response:
    """Open a session. Nothing is charged until an answer comes."""
    return show(service.start(db, loaded, body, now), fields, CREATED)


@router.get("", summary="List sessions, newest first")
def page(
    db: ReadDb, at: At, limit: Limit = 50, after: After = None
) -> schemas.SessionPage:
    return service.page(db, limit, after, at)


@router.get("/{id}", response_model=schemas.Session, summary="Show a session")
def get(
    id: str,
    db: ReadDb,
    loaded: Loaded,
    at: At,
    fields: LogFields,
) -> Response:
    fields["session"] = id
    view = service.get(db, loaded, id, at)
    return show(view, fields)


@router.patch(
    "/{id}",
    response_model=schemas.Session,
    dependencies=[TakesJson],
    summary="Change the budget",
)
def change_budget(
    id: str,
    body: schemas.BudgetRequest,
    db: Db,
    loaded: Loaded,
    at: At,
    fields: LogFields,
    if_match: IfMatch = None,
) -> Response:
    """Raise or lower the budget, never below what is spent."""
    fields["session"] = id
    view = service.change_budget(
        db,
        loaded,
        id,
        body.budget,
        at,
        version=version_of(if_match),
    )
    return show(view, fields)


@router.post(
    "/{id}/answers",
    response_model=schemas.Session,
    dependencies=[TakesJson],
    summary="Give answers",
)
def answer(
    id: str,
    body: schemas.AnswersRequest,
    db: Db,
    loaded: Loaded,
    at: At,
    fields: LogFields,
    if_match: IfMatch = None,
) -> Response:
    """Take all answers or none; charges in list order.

    An answer that the session has already changes nothing: after a broken connection
    send the same request again.
    """
    fields["session"] = id
    changed = service.answer(
        db,
        loaded,
        id,
        body.answers,
        at,
        version=version_of(if_match),
    )
    fields["charged"] = from_micros(changed.charged)
    return show(changed.session, fields)


@router.post("/{id}/stop", response_model=schemas.Session, summary="Stop a session")
def stop(
    id: str,
    db: Db,
    loaded: Loaded,
    at: At,
    fields: LogFields,
    if_match: IfMatch = None,
) -> Response:
    """End a session; results that were ordered may still come in."""
    fields["session"] = id
    view = service.stop(
        db,
        loaded,
        id,
        at,
        version=version_of(if_match),
    )
    return show(view, fields)


@router.delete(
    "/{id}",
    status_code=204,
    response_class=Response,
    summary="Erase a session's answers",
)
def erase(id: str, db: Db, now: Now, fields: LogFields) -> None:
    """Close a session and erase its answers; the ledger keeps the amounts."""
    fields["session"] = id
    service.erase(db, id, now)
