"""Routes of runs: their receipt, and the events of their calls."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from askless.app.documents.buying.receipts import Receipt
from askless.app.http.plumbing.buying.runs import require_running, stream_run
from askless.app.http.plumbing.deps import ReadDb
from askless.app.http.plumbing.following import ENDED, LastEvent
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
    response_class=EventSourceResponse,
    responses=ENDED,
    operation_id="follow_session",
    summary="Follow a run",
)
async def follow_run(
    request: Request,
    id: Annotated[str, Depends(require_running)],
    last_event_id: LastEvent = 0,
) -> AsyncIterator[ServerSentEvent]:
    """Stream an event for each call that has ended, and `ended` with the run."""
    async for event in stream_run(request, id, last_event_id):
        yield event
