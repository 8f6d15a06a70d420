"""Shadows: choose a log, draft its mapping, start; how far one is, and its report."""

from datetime import datetime
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from askless.app.errors import BlobGoneError, ConflictError, LimitError
from askless.app.http.plumbing.auth import Called, needs, require_scope
from askless.app.http.plumbing.deps import (
    After,
    Changer,
    Changes,
    Now,
    ReadDb,
    Uploads,
    show_now,
)
from askless.app.pages.models.shadow import isolate_names
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.frame import redirect, render
from askless.app.pages.trainings.new_training import form_retry
from askless.app.records import FINAL_STATES, Caller, StoredDataset
from askless.app.service import datasets
from askless.app.service.jobs import shadows
from askless.app.store.database.transactions import Transaction
from askless.core.errors import RefusedError

router = APIRouter(prefix="/ui/shadow", include_in_schema=False)
MOST = 50
WRITE, SEES = "train:write", "datasets:read"
# State -> its words and the kind of its badge.
STATES = {
    "queued": ("waits for a worker", "busy"),
    "running": ("is being computed", "busy"),
    "cancelling": ("is being cancelled", "busy"),
    "succeeded": ("is done", "good"),
    "failed": ("failed", "bad"),
    "cancelled": ("was cancelled", "neutral"),
}
MOST_SHOWN = 5


@router.get("", dependencies=[needs("train")])
def show_shadows(
    request: Request,
    db: ReadDb,
    caller: Called,
    after: After = None,
    tables: str | None = None,
) -> HTMLResponse:
    return render(
        request,
        "shadows.html",
        found=shadows.page(db, MOST, after),
        tables=datasets.page(db, MOST, tables) if may_start(caller) else None,
        states=STATES,
    )


def may_start(caller: Caller) -> bool:
    return {WRITE, SEES} <= caller.scopes


@router.get("/new", dependencies=[needs("train"), needs("datasets")])
def show_new(
    request: Request, db: ReadDb, caller: Called, dataset: str = ""
) -> HTMLResponse:
    """Show the form for a log; without one, the logs to choose from."""
    if not dataset:
        return show_shadows(request, db, caller)
    table = datasets.get(db, dataset)
    return render_form(request, table)


def render_form(
    request: Request, table: StoredDataset, status: int = 200, **more: Any
) -> HTMLResponse:
    """Show the form; `refusal` says why nothing was started, `notes` what to mend."""
    known = {"table": table, "refusal": None, "notes": ()} | more
    return render(request, "shadow_new.html", status, **known)


@router.post("/new", dependencies=[needs("train")])
async def handle_form(
    request: Request, form: Typed, changes: Changes, now: Now
) -> Response:
    """Draft the mapping or start; show the form again with what must be mended."""
    caller = changes.caller
    require_scope(caller, SEES)
    typed = {name: text for name, text in form.items() if isinstance(text, str)}
    key = typed.get("dataset", "")
    table = await show_now(request, caller.tenant_id, lambda db: datasets.get(db, key))
    show = partial(render_form, request, table, typed=typed)
    try:
        if typed.get("action") != "start":
            drafted, notes = shadows.draft(table.columns, typed.get("spec", ""))
            typed["mapping"] = drafted
            return show(notes=notes)
        return await start_shadow(request, typed, table, changes, now)
    except RefusedError as error:
        return show(status=422, errors=sort_refusals(error))
    except (LimitError, ConflictError) as error:
        return show(status=409, refusal=str(error))


async def start_shadow(
    request: Request,
    typed: dict[str, str],
    table: StoredDataset,
    changes: Changer,
    now: datetime,
) -> Response:
    """Enqueue a shadow, once even if the form is sent twice; redirect to its page."""
    texts = (typed.get(name, "") for name in ("spec", "mapping", "error_price"))
    order = shadows.read_order(table.columns, *texts)
    change_once = changes._replace(retry=form_retry(request, typed))
    return await change_once(
        lambda db: shadows.start(db, order, table, now),
        lambda job: redirect(f"/ui/shadow/{job.id}"),
    )


def sort_refusals(error: RefusedError) -> dict[str, str]:
    """Return the broken rules by the fields of the form."""
    rules: dict[str, list[str]] = {}
    for refusal in error.refusals[:MOST_SHOWN]:
        where = refusal.field.partition(".")[0]
        field = where if where in ("mapping", "error_price") else "spec"
        rules.setdefault(field, []).append(f"{refusal.field}: {refusal.told}")
    return {field: "; ".join(lines) for field, lines in rules.items()}


@router.get("/{id}", dependencies=[needs("train")])
def show_shadow_page(
    request: Request, id: str, db: ReadDb, blobs: Uploads, now: Now, caller: Called
) -> HTMLResponse:
    job = shadows.show(db, id, now)
    view, is_gone = None, False
    if job.state == "succeeded":
        try:
            view = isolate_names(shadows.read_view(blobs, id))
        except BlobGoneError:
            is_gone = True
    return show_job(request, job, caller, view=view, is_gone=is_gone)


def show_job(
    request: Request, job: Any, caller: Caller, status: int = 200, **more: Any
) -> HTMLResponse:
    is_ended, may_write = job.state in FINAL_STATES, WRITE in caller.scopes
    known = {
        "state": STATES[job.state][0],
        "is_ended": is_ended,
        "may_cancel": may_write and not is_ended and job.state != "cancelling",
        "may_start": may_start(caller),
        "sees_models": "models:read" in caller.scopes,
        **{"refusal": None, "view": None, "is_gone": False},
    }
    return render(request, "shadow_job.html", status, job=job, **known | more)


@router.post("/{id}/cancel", dependencies=[needs("train")])
async def cancel_shadow(
    request: Request, id: str, changes: Changes, now: Now
) -> Response:
    caller = changes.caller

    def explain(db: Transaction, refusal: str) -> HTMLResponse:
        job = shadows.show(db, id, now)
        return show_job(request, job, caller, 409, refusal=refusal)

    try:
        return await changes(
            lambda db: shadows.cancel(db, id, now),
            lambda _: redirect(f"/ui/shadow/{id}"),
        )
    except ConflictError as error:
        show = partial(explain, refusal=str(error))
        return await show_now(request, caller.tenant_id, show)
