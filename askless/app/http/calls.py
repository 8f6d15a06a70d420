"""Routes of calls to providers."""

from typing import Annotated

from fastapi import APIRouter, Query

from askless.app.documents.buying import calls as schemas
from askless.app.documents.fields import WITHOUT_NUL
from askless.app.documents.words import CallState
from askless.app.http.plumbing.deps import After, Limit, ReadDb
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.service.buying import providers as service

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
