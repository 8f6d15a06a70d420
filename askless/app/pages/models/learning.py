"""A model goes on learning: the form for more rows, and what came of them."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from askless.app.errors import ConflictError, LimitError, NotFoundError
from askless.app.http.plumbing.auth import needs
from askless.app.http.plumbing.deps import (
    Changes,
    Loaded,
    Now,
    ReadDb,
    Uploads,
    show_now,
)
from askless.app.http.plumbing.orders import Desk, TableOrder
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.frame import redirect, render
from askless.app.pages.plumbing.inputs import get_uploaded_table
from askless.app.records import FINAL_STATES, ModelHead
from askless.app.service import models
from askless.app.service.jobs import table_jobs
from askless.app.words.facts import describe_learnt
from askless.core.errors import RefusedError
from askless.core.pipeline.online.learning_state import get_learning

router = APIRouter(prefix="/ui/models", include_in_schema=False)
FIELD = "dataset"
# State -> its words.
STATES = {
    "queued": "The rows wait for a worker.",
    "running": "The rows are being learnt.",
    "cancelling": "Learning is being stopped.",
    "succeeded": "The rows are learnt.",
    "failed": "Learning failed. Nothing was learnt.",
    "cancelled": "Learning was stopped. Nothing was learnt.",
}


@router.get("/{id}/learn", dependencies=[needs("train")])
def show_form(request: Request, id: str, db: ReadDb, loaded: Loaded) -> HTMLResponse:
    head = table_jobs.find_head(db, id)
    return render_form(
        request, head, reason_not_to_learn(models.load(db, loaded, head.id))
    )


def reason_not_to_learn(model: Any) -> str | None:
    """Return why a model can't learn, as a sentence; None if it can."""
    try:
        get_learning(model)
    except RefusedError as error:
        (refusal,) = error.refusals
        return f"The model {refusal.rule}."
    return None


def render_form(
    request: Request,
    head: ModelHead,
    refusal: str | None = None,
    status: int = 200,
    **more: Any,
) -> HTMLResponse:
    most = request.app.state.settings.max_body_bytes
    context = {"head": head, "refusal": refusal, "most_bytes": most} | more
    return render(request, "learn.html", status, **context)


@router.post("/{id}/learn", dependencies=[needs("train")])
async def start_learning(
    request: Request,
    id: str,
    form: Typed,
    desk: Desk,
    loaded: Loaded,
    blobs: Uploads,
    changes: Changes,
    now: Now,
) -> Response:
    """Check a table and start the job that learns it; show refusals at the field."""
    try:
        sent = TableOrder(b"", get_uploaded_table(form, "The table"))
        prepared = await desk.read_job(
            sent, {}, "learn", lambda db: table_jobs.find_model(db, loaded, id, "learn")
        )
        return await changes(
            lambda db: table_jobs.start(
                db, prepared.order, prepared.store(db, blobs, now), now, id
            ),
            lambda job: redirect(f"/ui/models/{id}/learn/{job.id}"),
        )
    except RefusedError as error:
        reason = " ".join(
            f"{refusal.field}: {refusal.told}." for refusal in error.refusals
        )
        status = 422
    except (LimitError, ConflictError) as error:
        reason, status = str(error), 409

    head = await show_now(
        request, desk.tenant_id, lambda db: table_jobs.find_head(db, id)
    )
    return render_form(request, head, None, status, errors={FIELD: reason})


@router.get("/{id}/learn/{job_id}", dependencies=[needs("train")])
def show_job(
    request: Request, id: str, job_id: str, db: ReadDb, loaded: Loaded
) -> HTMLResponse:
    job = table_jobs.get(db, job_id)
    if job.kind != "learn":
        raise NotFoundError("job")
    new_version = learnt = None
    if job.state == "succeeded" and job.model_id is not None:
        new_version = models.find_head(db, job.model_id)
        learnt = new_version and describe_learnt(
            models.load(db, loaded, new_version.id)
        )
    return render(
        request,
        "learnt.html",
        head=models.get_head(db, id),
        job=job,
        words=STATES[job.state],
        is_ended=job.state in FINAL_STATES,
        made=new_version,
        learnt=learnt,
    )
