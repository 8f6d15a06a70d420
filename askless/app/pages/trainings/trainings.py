"""Trainings: the list, how far each one is, cancelling, and why one failed."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from askless.app.errors import ConflictError
from askless.app.http.plumbing.auth import Called, needs
from askless.app.http.plumbing.deps import After, Changes, Now, ReadDb, show_now
from askless.app.http.plumbing.following import (
    EventStream,
    LastEvent,
    follow_events,
    require_unfinished,
)
from askless.app.pages.plumbing.frame import redirect, render
from askless.app.records import FINAL_STATES, Caller
from askless.app.service import datasets, operations
from askless.app.service.jobs import trainings
from askless.app.store.database.transactions import Transaction
from askless.app.words.charts.charts import NamedCurve, draw_curves
from askless.app.words.wording import describe_time_left
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.model.model import Curve

router = APIRouter(prefix="/ui/train", include_in_schema=False)
MOST = 50
WRITE = "train:write"
SEEN = {"sessions": "predict:write", "data": "datasets:read", "models": "models:read"}
# State -> its words and the kind of its badge.
STATES = {
    "queued": ("waits for a worker", "busy"),
    "running": ("is being trained", "busy"),
    "cancelling": ("is being cancelled", "busy"),
    "succeeded": ("is trained", "good"),
    "failed": ("failed", "bad"),
    "cancelled": ("was cancelled", "neutral"),
}
# Kind of problem -> remedy; the detail of other kinds has one.
REMEDIES = {
    "invalid-request": "Mend what is listed, in the table or the order, and start "
    "another training.",
    "training-failed": "Upload the table again, and start another training.",
    "time-limit": "Start another training with fewer rounds, folds or rows.",
    "worker-lost": "Start it again. If that happens once more, tell whoever runs this "
    "service, and name the training's id.",
    "internal": "Tell whoever runs this service, and name the training's id.",
}


@router.get("", dependencies=[needs("train")])
def show_trainings(
    request: Request, db: ReadDb, caller: Called, after: After = None
) -> HTMLResponse:
    page = trainings.page(db, MOST, after)
    may_write = WRITE in caller.scopes
    return render(
        request, "trainings.html", found=page, states=STATES, may_write=may_write
    )


@router.get("/{id}", dependencies=[needs("train")])
def show_training_page(
    request: Request, id: str, db: ReadDb, now: Now, caller: Called
) -> HTMLResponse:
    return show_training(request, db, trainings.show(db, id, now), now, caller)


def show_training(
    request: Request,
    db: Any,
    training: Any,
    now: datetime,
    caller: Caller,
    refusal: str | None = None,
) -> HTMLResponse:
    """Show a training; `refusal` says why cancelling was refused, with status 409."""
    sees = {name: scope in caller.scopes for name, scope in SEEN.items()}
    has_table = training.dataset_id is not None and sees["data"]
    is_ended = training.state in FINAL_STATES
    is_cancelling = training.state == "cancelling"
    is_closing = is_ended or is_cancelling
    kind = training.error.type.rpartition("/")[2] if training.error else ""
    step = {} if is_ended else trainings.last_step(db, training.id)
    end, tested = training.expected_end, step.get("tested")
    return render(
        request,
        "training.html",
        200 if refusal is None else 409,
        training=training,
        state=STATES[training.state],
        is_ended=is_ended,
        may_cancel=WRITE in caller.scopes and not is_closing,
        # Only a queued training needs to know whether a worker could take it.
        has_workers=training.state != "queued" or has_workers(request, db),
        step=step,
        left=None if end is None else describe_time_left(end - now),
        tested=tested,
        chart=tested and draw_tested(tested, training.spec.get("cost_unit", "")),
        remedy=REMEDIES.get(kind),
        sees=sees,
        table=datasets.get(db, training.dataset_id).name if has_table else None,
        refusal=refusal,
        meaning=None if is_closing else trainings.explain_name(db, training.name),
    )


def draw_tested(tested: Mapping[str, Any], unit: str) -> str:
    """Draw the error on held-out rows of the folds that are trained so far."""
    points = tested["points"]
    budgets = tuple(round(point["budget"] * MICROS_PER_UNIT) for point in points)
    errors = tuple(point["error"] for point in points)
    spends = tuple(point["mean_spend"] * MICROS_PER_UNIT for point in points)
    curve = Curve(budgets, errors, errors, spends, budgets, tested["rows"])
    return draw_curves([NamedCurve("the parts tested so far", curve)], unit)


def has_workers(request: Request, db: Any) -> bool:
    timeout_s = request.app.state.settings.heartbeat_timeout_s
    return operations.count_workers(db, timeout_s) > 0


@router.get("/{id}/events", dependencies=[needs("train")], response_class=EventStream)
async def events(
    id: Annotated[str, Depends(require_unfinished(trainings.get))],
    request: Request,
    last_event_id: LastEvent = 0,
) -> EventStream:
    """Stream the events of the API to callers signed in by cookie."""
    return follow_events(request, id, last_event_id)


@router.post("/{id}/cancel", dependencies=[needs("train")])
async def cancel_training(
    request: Request, id: str, changes: Changes, now: Now
) -> Response:
    caller = changes.caller

    def explain(db: Transaction, refusal: str) -> HTMLResponse:
        training = trainings.show(db, id, now)
        return show_training(request, db, training, now, caller, refusal)

    try:
        return await changes(
            lambda db: trainings.cancel(db, id, now),
            lambda _: redirect(f"/ui/train/{id}"),
        )
    except ConflictError as error:
        show = partial(explain, refusal=str(error))
        return await show_now(request, caller.tenant_id, show)
