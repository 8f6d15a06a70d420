"""The page of a session that buys by itself: its calls as they end, and its receipt."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from askless.app.errors import ConflictError
from askless.app.http.plumbing.auth import Called, needs
from askless.app.http.plumbing.buying.runs import RUN_EVENTS, require_running
from askless.app.http.plumbing.deps import At, Changes, Loaded, ReadDb, show_now
from askless.app.http.plumbing.following import EventStream, LastEvent, follow_events
from askless.app.pages.cases.leads import compare_lead
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.frame import download, redirect, render
from askless.app.pages.plumbing.inputs import field_text
from askless.app.records import RunState
from askless.app.service.buying import receipts, starts
from askless.app.service.sessions.opened import (
    ErasedSession,
    OpenSession,
    SessionCall,
    find,
)
from askless.app.store.database.transactions import Transaction
from askless.app.words.stops import describe_stop
from askless.app.words.wording import write_answer
from askless.core.catalogue.catalogue import Feature
from askless.core.errors import ClosedError

router = APIRouter(prefix="/ui/sessions", include_in_schema=False)
READS, WRITES = needs("predict"), "predict:write"
# State of a call -> what its badge says, and the badge's kind.
CALLS = {
    "reserved": ("is being asked", "busy"),
    "sent": ("is being asked", "busy"),
    "settled": ("", ""),
    "missed": ("no value", "bad"),
    "released": ("not charged", "neutral"),
    "in_doubt": ("in doubt", "bad"),
}
CHANGES: dict[str, RunState] = {
    "pause": "paused",
    "buy": "buying",
    "release": "released",
}
OVER = "The run has ended meanwhile. Nothing was changed."


class PurchaseRow(NamedTuple):
    """A call of the run, or an answer of a person, as a row of a table."""

    seller: str
    #: title and value of each feature; the value is "" where none came
    values: tuple[tuple[str, str], ...]
    badge: str
    kind: str
    note: str
    price: float
    charged: float
    #: of the class that the receipt names; None before the call has ended
    after: float | None


@router.get("/{id}/receipt", dependencies=[READS])
def show_receipt(
    request: Request, id: str, db: ReadDb, loaded: Loaded, at: At, caller: Called
) -> HTMLResponse:
    """Show what was bought so far, or the receipt of a session that is over."""
    call = SessionCall(id, loaded, at)
    return render_receipt(request, db, call, may_change=WRITES in caller.scopes)


def render_receipt(
    request: Request,
    db: Transaction,
    call: SessionCall,
    *,
    may_change: bool,
    status: int = 200,
) -> HTMLResponse:
    """Render the page of a receipt; it says so where a change came too late."""
    opened = find(db, call)
    if isinstance(opened, ErasedSession):
        return render(request, "erased.html", status, view=opened.view)
    receipt = json.loads(receipts.read_receipt(db, call))
    context = describe_receipt(opened, receipt) | {
        "may_change": may_change,
        "refusal": OVER if status == 409 else "",
        "comparison": compare_lead(opened, receipt),
    }
    return render(request, "receipt.html", status, **context)


def describe_receipt(opened: OpenSession, receipt: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context of a receipt's page."""
    catalogue = opened.model.ensemble.catalogue
    features = {feature.name: feature for feature in catalogue.features}
    displays = {label["label"]: label["display"] for label in receipt["classes"]}
    chances = {label["label"]: label["probability"] for label in receipt["classes"]}
    started = datetime.fromisoformat(receipt["started_at"])
    ended = receipt["ended_at"] and datetime.fromisoformat(receipt["ended_at"])
    rows = [make_row(bought, features) for bought in receipt["bought"]]
    calls = [bought for bought in receipt["bought"] if bought["provider"]]
    return {
        "receipt": receipt,
        "case": opened.session.client_ref or receipt["model"]["name"],
        "run_state": None if opened.run is None else opened.run.state,
        "model_note": opened.model.card.get("note"),
        "rows": rows,
        "n_calls": sum(bought["at"] is not None for bought in calls),
        "event": displays[receipt["chance_of"]],
        "chance": chances[receipt["label"]],
        "known": list_values(receipt["known"], features),
        "not_bought": [
            (", ".join(features[name].title for name in skipped["features"]), skipped)
            for skipped in receipt["not_bought"]
        ],
        "why_ended": describe_stop(opened.model.ensemble, opened.state),
        "started": started,
        "ended": ended,
        "took_s": (ended - started).total_seconds() if ended else None,
    }


def make_row(bought: Mapping[str, Any], features: Mapping[str, Feature]) -> PurchaseRow:
    badge, kind = CALLS[bought["state"]]
    came = bought["values"] or dict.fromkeys(bought["features"])
    note = bought["reason"] or ""
    if bought["state"] == "missed":
        badge = "empty" if note == "empty" else badge
        note = "charged all the same" if bought["charged"] else "not charged"
    return PurchaseRow(
        bought["provider"] or "a person",
        list_values(came, features),
        badge,
        kind,
        note,
        bought["price"],
        bought["charged"],
        bought["after"],
    )


def list_values(
    values: Mapping[str, Any], features: Mapping[str, Feature]
) -> tuple[tuple[str, str], ...]:
    """Return titles of features and what people read for their values."""
    return tuple(
        (features[name].title, write_answer(features[name], value))
        for name, value in values.items()
    )


@router.get("/{id}/receipt.json", dependencies=[READS])
def download_receipt(id: str, db: ReadDb, loaded: Loaded, at: At) -> Response:
    """Return the document of `GET /predict/{id}/receipt` as a download."""
    text = receipts.read_receipt(db, SessionCall(id, loaded, at))
    return download(f"receipt-{id}.json", text)


@router.get("/{id}/receipt/events", dependencies=[READS], response_class=EventStream)
async def follow_run(
    request: Request,
    id: Annotated[str, Depends(require_running)],
    last_event_id: LastEvent = 0,
) -> EventStream:
    """Stream the events of the API to callers signed in by cookie."""
    return follow_events(request, id, last_event_id, RUN_EVENTS)


@router.post("/{id}/run", dependencies=[needs("predict")])
async def change_run(
    request: Request, id: str, form: Typed, changes: Changes, loaded: Loaded, at: At
) -> Response:
    """Pause a run, let it go on, or hand its session to a person."""
    call = SessionCall(id, loaded, at)
    wish = CHANGES.get(field_text(form, "change"), "paused")
    address = f"/ui/sessions/{id}" + ("" if wish == "released" else "/receipt")
    try:
        return await changes(
            lambda db: starts.change_run(db, call, wish), lambda _: redirect(address)
        )
    except (ConflictError, ClosedError):
        may_change = WRITES in changes.caller.scopes
        return await show_now(
            request,
            changes.caller.tenant_id,
            lambda db: render_receipt(
                request, db, call, may_change=may_change, status=409
            ),
        )
