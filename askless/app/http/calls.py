"""Routes of calls to providers."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from askless.app.documents.buying import calls as schemas
from askless.app.documents.fields import WITHOUT_NUL
from askless.app.documents.words import CallState
from askless.app.http.plumbing.contract import problem_docs
from askless.app.http.plumbing.deps import (
    After,
    At,
    Db,
    Limit,
    Loaded,
    ReadDb,
    require_distinct,
)
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.service.buying import providers as service
from askless.app.service.buying.calling import doubts
from askless.app.service.sessions.opened import SessionCall

router = APIRouter(prefix="/calls", tags=["calls"], route_class=RetriedRoute)
Key = Annotated[str, Query(min_length=1, max_length=100, pattern=WITHOUT_NUL)]


@router.get("", operation_id="list_calls", summary="List calls, newest first")
def list_calls(
    db: ReadDb,
    provider: Key | None = None,
    session: Key | None = None,
    state: CallState | None = None,
    limit: Limit = 50,
    after: After = None,
) -> schemas.CallPage:
    """List calls to providers, tests too; `state=in_doubt` waits for an operator."""
    filters = service.CallFilter(provider, session, state)
    return service.page_of_calls(db, limit, after, filters)


@router.get("/{id}", operation_id="get_call", summary="Show a call")
def get_call(id: str, db: ReadDb) -> schemas.CallBody:
    """Show a call; neither keys nor what was read are part of it."""
    return service.get_call(db, id)


@router.post(
    "/{id}/settle",
    dependencies=[Depends(require_distinct)],
    openapi_extra=problem_docs("conflict"),
    operation_id="settle_call",
    summary="Settle a call in doubt",
)
def settle_call(
    id: str, body: schemas.CallSettlement, db: Db, loaded: Loaded, at: At
) -> schemas.CallBody:
    """Say whether the provider has charged a call in doubt; else its charge goes back.

    Ask the provider by the call's idempotency key, or read its bill.
    """
    none_yet = SessionCall("", loaded, at)
    return schemas.CallBody.of(doubts.settle_doubt(db, id, body.charged, none_yet))
