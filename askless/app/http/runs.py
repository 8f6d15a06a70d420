"""Routes of runs: their receipt, and the events of their calls."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from askless.app.documents.buying.receipts import Receipt
from askless.app.http.plumbing.buying.runs import RUN_EVENTS, require_running
from askless.app.http.plumbing.deps import ReadDb
from askless.app.http.plumbing.following import (
    ENDED,
    EventStream,
    LastEvent,
    follow_events,
)
from askless.app.http.plumbing.session_calls import Call
from askless.app.service.buying import receipts

router = APIRouter(prefix="/predict", tags=["predict"])


@router.get(
    "/{id}/receipt",
    response_model=Receipt,
    operation_id="get_receipt",
    summary="Show what a decision has cost and rests on",
)
def get_receipt(db: ReadDb, call: Call) -> Response:
    """Show what was bought in which order, what was not and why, and why it ended.

    Its hash covers the rows of the ledger. The receipt of a run is stored at its end.
    """
    content = receipts.read_receipt(db, call)
    return Response(content, media_type="application/json")


@router.get(
    "/{id}/events",
    response_class=EventStream,
    responses=ENDED,
    operation_id="follow_session",
    summary="Follow a run",
)
async def follow_run(
    request: Request,
    id: Annotated[str, Depends(require_running)],
    last_event_id: LastEvent = 0,
) -> EventStream:
    """Stream an event for each call that has ended, and `ended` with the run."""
    return follow_events(request, id, last_event_id, RUN_EVENTS)
