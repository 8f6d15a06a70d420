"""Routes of sessions."""

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
    require_json,
)
from app.service import predictions as service
from core.table.prices import from_micros

router = APIRouter(prefix="/predict", tags=["predict"])
TakesJson = Depends(require_json)

IfMatch = Annotated[
    str | None,
    Header(
        pattern=r'^"[0-9]{1,9}"$',
        description="Refuse (412) unless the session is at this version.",
        examples=['"5"'],
    ),
]


def show(
    view: schemas.Session, fields: dict[str, object], response: Response
) -> schemas.Session:
    """Return the answer, its ETag, and the log's share of it."""
    response.headers["ETag"] = f'"{view.version}"'
    fields |= {"session": view.id, "remaining": view.budget.remaining}
    return view


def version_of(if_match: str | None) -> int | None:
    return None if if_match is None else int(if_match.strip('"'))


@router.post("", status_code=201, dependencies=[TakesJson], summary="Start a session")
def start(
    body: schemas.PredictRequest,
    db: Db,
    loaded: Loaded,
    now: Now,
    fields: LogFields,
    response: Response,
) -> schemas.Session:
    """Open a session. Nothing is charged until an answer comes."""
    view = service.start(db, loaded, body, now)
    response.headers["Location"] = f"/predict/{view.id}"
    return show(view, fields, response)


@router.get("", summary="List sessions, newest first")
def page(
    db: ReadDb, now: Now, settings: Settings, limit: Limit = 50, after: After = None
) -> schemas.SessionPage:
    return service.page(db, limit, after, now, settings.session_ttl_s)


@router.get("/{id}", summary="Show a session")
def get(
    id: str,
    db: ReadDb,
    loaded: Loaded,
    now: Now,
    settings: Settings,
    fields: LogFields,
    response: Response,
) -> schemas.Session:
    fields["session"] = id
    view = service.get(db, loaded, id, now, settings.session_ttl_s)
    return show(view, fields, response)


@router.post("/{id}/answers", dependencies=[TakesJson], summary="Give answers")
def answer(
    id: str,
    body: schemas.AnswersRequest,
    db: Db,
    loaded: Loaded,
    now: Now,
    settings: Settings,
    fields: LogFields,
    response: Response,
    if_match: IfMatch = None,
) -> schemas.Session:
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
        now,
        settings.session_ttl_s,
        version=version_of(if_match),
    )
    fields["charged"] = from_micros(changed.charged)
    return show(changed.session, fields, response)


@router.post("/{id}/stop", summary="Stop a session")
def stop(
    id: str,
    db: Db,
    loaded: Loaded,
    now: Now,
    settings: Settings,
    fields: LogFields,
    response: Response,
    if_match: IfMatch = None,
) -> schemas.Session:
    """End a session; results that were ordered may still come in."""
    fields["session"] = id
    view = service.stop(
        db,
        loaded,
        id,
        now,
        settings.session_ttl_s,
        version=version_of(if_match),
    )
    return show(view, fields, response)


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
